import statistics

import numpy as np
import pytest
import torch
from scipy.stats import ortho_group

from coterie.functional.canonical import (
    onto_first_axes,
    onto_principal_axes,
    standardise,
    symmetric_eigen,
)


def skewed_sets(columns: int = 6, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Three sets (B, N, D) of skewed, correlated columns of many scales, partly padding."""
    random = np.random.default_rng(seed)
    points = random.exponential(size=(3, 200, columns)) * 0.6 ** np.arange(columns)
    points = points @ random.normal(size=(columns, columns))
    points = points * 10.0 ** np.linspace(-2, 2, columns) + random.normal(size=columns)
    mask = torch.arange(200) < torch.tensor([200, 150, 90])[:, None]
    return torch.from_numpy(points), mask


def frame(points: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return torch.where(mask[..., None], onto_principal_axes(standardise(points, mask), mask), 0.0)


def by_hand(values: list[float]) -> list[float]:
    """One column in its own units, number by number."""
    mean, deviation = statistics.fmean(values), statistics.pstdev(values)
    for _ in range(4):
        held = [min(max(v, mean - 3 * deviation), mean + 3 * deviation) for v in values]
        mean, deviation = statistics.fmean(held), statistics.pstdev(held)
    return [min(max((v - mean) / deviation, -10), 10) for v in values]


def test_columns_are_standardised_as_by_hand():
    points, mask = skewed_sets(3)
    points[0, 7] = 1e5
    found = standardise(points, mask)
    for one, valid, expected in zip(points, mask, found, strict=True):
        for column in range(3):
            unit = by_hand(one[valid, column].tolist())
            np.testing.assert_allclose(expected[valid, column], unit, atol=1e-9)


def test_columns_without_outliers_have_mean_zero_and_deviation_one():
    points = 5 + 3 * torch.rand(2, 400, 4, generator=torch.Generator().manual_seed(0)).double()
    unit = standardise(points, torch.ones(2, 400, dtype=torch.bool))
    torch.testing.assert_close(unit.mean(1), torch.zeros(2, 4).double())
    torch.testing.assert_close(unit.std(1, correction=0), torch.ones(2, 4).double())


@pytest.mark.parametrize("value", [0.0, 0.1, -1e6])
def test_a_constant_column_becomes_zero(value):
    points = torch.randn(1, 300, 2, generator=torch.Generator().manual_seed(0))
    points[..., 1] = value
    unit = standardise(points, torch.ones(1, 300, dtype=torch.bool))
    assert (unit[..., 1] == 0).all()
    assert unit[..., 0].std() > 0.9


@pytest.mark.parametrize("junk", [1e9, torch.inf, torch.nan])
def test_padded_points_have_no_influence(junk):
    points, mask = skewed_sets()
    dirty = torch.where(mask[..., None], points, junk)
    for step in (standardise, frame):
        assert torch.equal(step(dirty, mask), step(points, mask))
    cut = frame(points[1:2, :150], mask[1:2, :150])
    torch.testing.assert_close(frame(points, mask)[1:2, :150], cut)


def test_a_set_without_points_stays_finite():
    points, mask = skewed_sets()
    assert frame(points, mask & False).isfinite().all()


@pytest.mark.parametrize("size", [2, 4, 6, 16])
def test_eigenvectors_are_those_of_numpy(size):
    root = torch.randn(20, size, size, generator=torch.Generator().manual_seed(size))
    matrix = root @ root.transpose(1, 2)
    values, vectors = (found.double().numpy() for found in symmetric_eigen(matrix))
    expected, axes = np.linalg.eigh(matrix.double().numpy())
    scale = expected[:, -1:]
    np.testing.assert_allclose(values / scale, expected[:, ::-1] / scale, atol=2e-6)
    # Where values are apart, the vectors are the same up to their sign.
    agreement = abs(np.einsum("bij,bij->bj", vectors, axes[..., ::-1]))
    nearest = np.diff(expected, axis=1).min(1) / scale[:, 0]
    assert (nearest > 1e-3).any()
    np.testing.assert_allclose(agreement[nearest > 1e-3], 1, atol=1e-4)


@pytest.mark.parametrize(
    "diagonal", [[1.0, 1, 1, 1], [0.0, 0, 0, 0], [3.0, 0, 3, 0], [1.0, 2, 3, 4]]
)
def test_equal_and_zero_eigenvalues(diagonal):
    turned = torch.from_numpy(ortho_group.rvs(4, random_state=0))
    for axes in (torch.eye(4).double(), turned):
        matrix = axes @ torch.tensor(diagonal).double().diag() @ axes.T
        values, vectors = symmetric_eigen(matrix[None])
        assert values[0].tolist() == pytest.approx(sorted(diagonal, reverse=True), abs=1e-9)
        torch.testing.assert_close(vectors[0] @ vectors[0].T, torch.eye(4).double())
        torch.testing.assert_close(vectors[0] * values[0] @ vectors[0].T, matrix)


def test_an_odd_number_of_columns_is_refused():
    with pytest.raises(ValueError, match="must be even, got 3"):
        symmetric_eigen(torch.eye(3)[None])


def test_the_axes_are_the_principal_ones():
    points, mask = skewed_sets()
    found = onto_principal_axes(points, mask)
    for one, valid, turned in zip(points.numpy(), mask.numpy(), found.numpy(), strict=True):
        centred = one[valid] - one[valid].mean(0)
        variance, axes = np.linalg.eigh(centred.T @ centred / len(centred))
        expected = centred @ axes[:, ::-1] / np.sqrt(variance[-1])
        expected *= np.sign((expected**3).sum(0))
        np.testing.assert_allclose(turned[valid], expected.clip(-20, 20), atol=1e-6)


def test_a_frame_has_unit_size_and_falling_variances():
    points, mask = skewed_sets()
    for turned, valid in zip(frame(points, mask), mask, strict=True):
        covariance = turned[valid].T.cov(correction=0)
        variance = covariance.diagonal()
        assert variance[0] == pytest.approx(1)
        assert (variance.diff() <= 1e-12).all()
        torch.testing.assert_close(covariance, variance.diag(), atol=1e-9, rtol=0)
        assert (turned[valid].pow(3).mean(0) >= 0).all()


SIGNS = torch.tensor([1.0, -1, -1, 1, -1, 1]).double()
SCALES = torch.tensor([1e-3, 5, 1, 40, 0.2, 7]).double()
ORDER = torch.tensor([3, 0, 5, 1, 4, 2])


@pytest.mark.parametrize(
    "change",
    [
        lambda points: points * SIGNS,
        lambda points: -points,
        lambda points: points + 30,
        lambda points: points * SCALES - 2,
        lambda points: points[..., ORDER],
    ],
    ids=["mirrored", "turned round", "shifted", "scaled", "columns permuted"],
)
def test_the_same_set_has_the_same_frame(change):
    points, mask = skewed_sets()
    torch.testing.assert_close(
        frame(change(points), mask), frame(points, mask), atol=1e-7, rtol=1e-6
    )


def test_a_rotated_set_has_the_same_axes():
    points, mask = skewed_sets()
    turned = standardise(points, mask) @ torch.from_numpy(ortho_group.rvs(6, random_state=1))
    expected = torch.where(mask[..., None], frame(points, mask), 0.0)
    found = torch.where(mask[..., None], onto_principal_axes(turned, mask), 0.0)
    torch.testing.assert_close(found, expected, atol=1e-7, rtol=1e-6)


def test_rows_keep_their_places_when_permuted():
    points, _ = skewed_sets()
    everyone = torch.ones(3, 200, dtype=torch.bool)
    order = torch.randperm(200, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        frame(points[:, order], everyone), frame(points, everyone)[:, order], atol=1e-7, rtol=1e-6
    )


def test_inputs_are_left_alone():
    points, mask = skewed_sets()
    before = points.clone()
    frame(points, mask)
    assert torch.equal(points, before)


def wide_sets(columns: int = 60) -> tuple[torch.Tensor, torch.Tensor]:
    """Two sets (B, N, D) of many correlated columns with falling variances, one partly padding."""
    random = np.random.default_rng(5)
    turn = ortho_group.rvs(columns, random_state=1)
    points = random.exponential(size=(2, 300, columns)) * 0.85 ** np.arange(columns) @ turn
    mask = torch.arange(300) < torch.tensor([300, 200])[:, None]
    return torch.from_numpy(points), mask


def test_the_first_of_many_axes_are_those_of_an_exact_solver():
    points, mask = wide_sets()
    found = onto_first_axes(points, mask, 6)
    assert found.shape == (2, 300, 6)
    for one, valid, turned in zip(points.numpy(), mask.numpy(), found.numpy(), strict=True):
        centred = one[valid] - one[valid].mean(0)
        _, singular, axes = np.linalg.svd(centred, full_matrices=False)
        scores = centred @ axes[:6].T / (singular[0] / np.sqrt(valid.sum()))
        scores *= np.sign((scores**3).mean(0))
        np.testing.assert_allclose(turned[valid], scores, atol=1e-3)


def test_more_rounds_find_the_axes_to_the_last_digit():
    points, mask = wide_sets()
    near, nearer, exact = (onto_first_axes(points, mask, 6, rounds=n) for n in (4, 8, 60))
    assert (nearer - exact).abs().max() < 0.1 * (near - exact).abs().max()


@pytest.mark.parametrize("columns", [6, 10])
def test_of_few_axes_the_first_are_exact(columns):
    points, mask = skewed_sets(columns)
    first = onto_first_axes(points, mask, 6)
    assert torch.equal(first, onto_principal_axes(points, mask)[..., :6])


def test_padding_does_not_turn_the_first_axes():
    points, mask = wide_sets()
    other = torch.where(mask[..., None], points, 1e9)
    valid = mask[..., None]
    assert torch.equal(
        torch.where(valid, onto_first_axes(points, mask, 6), 0.0),
        torch.where(valid, onto_first_axes(other, mask, 6), 0.0),
    )


def test_columns_that_never_vary_leave_the_first_axes_finite():
    points = torch.zeros(1, 50, 40)
    points[0, :, 3] = torch.arange(50.0)
    first = onto_first_axes(points, torch.ones(1, 50, dtype=torch.bool), 4)
    assert first.isfinite().all()
    assert not first[..., 1:].abs().gt(1e-5).any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_empty_columns_beside_the_others_change_nothing(dtype):
    # Fewer columns than axes are looked for: round-off must not become axes.
    points, mask = skewed_sets()
    points = standardise(points, mask).to(dtype)
    among_many = torch.nn.functional.pad(points, (10, 24))
    found = onto_first_axes(among_many, mask, 6)
    expected = onto_principal_axes(points, mask)
    torch.testing.assert_close(found[mask], expected[mask], rtol=0, atol=2e-3)
    more = onto_first_axes(among_many, mask, 12)[mask]
    torch.testing.assert_close(more[:, :6], expected[mask], rtol=0, atol=2e-3)
    assert more[:, 6:].abs().max() < 1e-3
