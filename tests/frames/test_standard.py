import statistics

import numpy as np
import pytest
import torch
from scipy.stats import ortho_group, skew

from coterie.frames.standard import fit_standard, principal_axes, robust_moments
from coterie.functional.canonical import FARTHEST, onto_principal_axes, standardise


def table(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    """Skewed columns of many scales, correlated, with a few outliers."""
    random = np.random.default_rng(seed)
    x = random.exponential(size=(rows, columns)) @ random.normal(size=(columns, columns))
    x[:: max(rows // 5, 1)] *= 30
    return x * 10.0 ** np.linspace(-3, 3, columns)


def mapped(x: np.ndarray, width: int = 4, **settings) -> np.ndarray:
    return fit_standard(x, width, **settings)(x)


def by_hand(values: list[float]) -> tuple[float, float]:
    """Mean and deviation of one column with the tails held in, number by number."""
    mean, deviation = statistics.fmean(values), statistics.pstdev(values)
    for _ in range(4):
        held = [min(max(v, mean - 3 * deviation), mean + 3 * deviation) for v in values]
        mean, deviation = statistics.fmean(held), statistics.pstdev(held)
    return mean, deviation


def test_moments_are_those_by_hand():
    x = table(60, 3)
    centre, spread = robust_moments(x)
    for column in range(3):
        mean, deviation = by_hand(x[:, column].tolist())
        assert centre[column] == pytest.approx(mean)
        assert spread[column] == pytest.approx(deviation)


def test_outliers_do_not_decide_the_scale():
    x = np.random.default_rng(0).normal(5, 2, size=(1000, 1))
    x[:3] = 1e4
    centre, spread = robust_moments(x)
    assert x.std() > 500
    assert abs(centre[0] - 5) < 0.3
    assert 1.8 < spread[0] < 3


@pytest.mark.parametrize(("rows", "columns"), [(50, 3), (50, 7), (5, 9)])
def test_the_map_is_what_the_steps_say(rows, columns):
    x = table(rows, columns)
    moments = [by_hand(column.tolist()) for column in x.T]
    scaled = np.stack(
        [(column - mean) / spread for column, (mean, spread) in zip(x.T, moments, strict=True)], 1
    )
    scaled = np.clip(scaled, -10, 10)
    _, singular, axes = np.linalg.svd(scaled - scaled.mean(0), full_matrices=False)
    turned = (scaled - scaled.mean(0)) @ axes.T
    turned *= np.sign(skew(turned))
    turned /= singular[0] / np.sqrt(rows)
    kept = min(4, columns, rows - 1)  # rows are one dimension fewer than they are many
    expected = np.zeros((rows, 4))
    expected[:, :kept] = np.clip(turned, -20, 20)[:, :kept]
    np.testing.assert_allclose(mapped(x), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("columns", [2, 4])
def test_it_is_the_frame_of_the_training(columns):
    x = table(90, columns)
    mask = torch.ones(1, 90, dtype=torch.bool)
    points = torch.from_numpy(x)[None]
    expected = onto_principal_axes(standardise(points, mask), mask)[0].numpy()
    np.testing.assert_allclose(mapped(x, columns), expected, rtol=1e-5, atol=1e-5)


def test_the_first_axis_is_the_unit():
    x = np.random.default_rng(0).normal(size=(500, 3)) * [1, 100, 1e-4]
    deviation = mapped(x).std(0)
    assert deviation[0] == pytest.approx(1, abs=1e-5)
    assert (deviation[1:3] <= 1).all()
    assert deviation[3] == 0


def test_far_points_are_held_within_the_limit():
    x = np.random.default_rng(0).normal(size=(2000, 2))
    columns = fit_standard(x, 2)
    assert abs(columns(x)).max() < FARTHEST
    far, farther = columns(1e6 * x[:1]), columns(1e12 * x[:1])
    np.testing.assert_array_equal(far, farther)
    assert 10 < abs(far).max() <= FARTHEST


def test_a_column_that_hardly_varies_does_not_drown_the_others():
    random = np.random.default_rng(0)
    rare = (random.uniform(size=(2000, 1)) < 0.01).astype(float)
    deviation = mapped(np.hstack([random.normal(size=(2000, 2)), rare])).std(0)
    assert (deviation[:3] > 0.4).all()


def test_rows_in_another_order():
    x = table(80, 6)
    order = np.random.default_rng(1).permutation(80)
    np.testing.assert_allclose(mapped(x[order]), mapped(x)[order], rtol=1e-5, atol=1e-6)


def test_columns_in_another_order():
    x = table(80, 6)
    order = np.random.default_rng(1).permutation(6)
    np.testing.assert_allclose(mapped(x[:, order]), mapped(x), rtol=1e-5, atol=1e-6)


def test_shifted_and_scaled_columns():
    x = table(80, 6)
    random = np.random.default_rng(1)
    other = x * random.uniform(0.1, 50, 6) + random.normal(size=6) * 1e4
    np.testing.assert_allclose(mapped(other), mapped(x), rtol=1e-4, atol=1e-4)


def test_axes_turn_with_the_points():
    x = table(80, 6) / 10.0 ** np.linspace(-3, 3, 6)
    turn = ortho_group.rvs(6, random_state=2)
    before = x @ principal_axes(x, 4)
    np.testing.assert_allclose(x @ turn @ principal_axes(x @ turn, 4), before, atol=1e-8)


def test_axes_point_to_the_long_tail():
    x = np.random.default_rng(0).exponential(size=(200, 1))
    assert skew(x @ principal_axes(x, 1)) > 0
    assert skew(-x @ principal_axes(-x, 1)) > 0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_axes_of_symmetric_points_have_a_positive_loading(sign):
    cross = sign * np.array([[2.0, 2.0], [-2.0, -2.0], [1.0, -1.0], [-1.0, 1.0]])
    axes = principal_axes(cross, 2)
    np.testing.assert_allclose(axes * np.sqrt(4), [[1, 1], [1, -1]] / np.sqrt(2), atol=1e-12)


def test_axes_of_more_columns_than_rows_are_orthogonal_down_to_the_flattest():
    random = np.random.default_rng(0)
    x = random.normal(size=(40, 6)) * 10.0 ** -np.arange(0, 4.8, 0.8)
    x = (x - x.mean(0)) @ ortho_group.rvs(300, random_state=random)[:6]
    _, singular, directions = np.linalg.svd(x, full_matrices=False)
    axes = principal_axes(x, 6) * singular[0] / np.sqrt(len(x))
    assert singular[5] / singular[0] < 3e-4
    np.testing.assert_allclose(axes.T @ axes, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(abs(np.diag(directions[:6] @ axes)), 1, atol=1e-9)


def test_constant_columns_count_for_nothing():
    x = table(40, 3)
    with_constants = np.column_stack([np.full(40, 0.1), x, np.full(40, 1e9)])
    columns = fit_standard(with_constants, 4)
    np.testing.assert_allclose(columns(with_constants), mapped(x), rtol=1e-5, atol=1e-6)
    with_constants[:, 0] = 7.0  # neither for new rows
    np.testing.assert_allclose(columns(with_constants), mapped(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("x", [np.ones((1, 3)), np.full((9, 3), 0.1), np.zeros((2, 1))])
def test_rows_that_are_all_equal_become_zero(x):
    assert (mapped(x) == 0).all()


def test_redundant_columns_add_no_axis():
    x = table(40, 2)
    repeated = mapped(np.column_stack([x, 3 * x + 1]))
    assert (repeated[:, 2:] == 0).all()
    np.testing.assert_allclose(repeated, mapped(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("rows", "columns"), [(2, 1), (2, 5), (3, 3), (50, 1), (50, 9)])
def test_shape_and_type(rows, columns):
    x = table(rows, columns).astype(np.float32)
    assert mapped(x).shape == (rows, 4)
    assert mapped(x).dtype == np.float32
    assert np.isfinite(mapped(x)).all()


def test_indicators_of_one_column_weigh_as_one():
    random = np.random.default_rng(0)
    colour = random.integers(0, 5, 3000)
    x = np.column_stack([random.normal(size=3000), colour[:, None] == np.arange(5)])
    columns = fit_standard(x, 6, groups=np.array([-1, 0, 0, 0, 0, 0]))
    _, spread = robust_moments(x[:, :1])
    own = x - x.mean(0)
    own[:, 0] /= spread[0]
    own[:, 1:] /= np.sqrt((own[:, 1:] ** 2).mean(0).sum())
    assert own[:, 1:].var(0).sum() == pytest.approx(1)
    ours = columns(x)
    some = slice(0, 40)

    def distances(points):
        return np.linalg.norm(points[some, None] - points[some], axis=-1)

    unit = np.linalg.svd(own, compute_uv=False)[0] / np.sqrt(3000)
    np.testing.assert_allclose(distances(ours), distances(own) / unit, rtol=1e-4, atol=1e-4)


def test_a_rare_indicator_does_not_drown_the_numbers():
    x = np.random.default_rng(0).normal(size=(1000, 2))
    x[:, 1] = np.arange(1000) < 5
    found = mapped(x, groups=np.array([-1, 0]))
    assert found.std(0)[1] > 0.5


def test_new_rows_take_the_way_of_the_old():
    x = table(30, 5)
    columns = fit_standard(x, 2)
    np.testing.assert_allclose(columns(x[4:9]), columns(x)[4:9], rtol=1e-6)


def test_rows_are_found_again_where_all_axes_are_seen():
    table = np.random.default_rng(0).normal(size=(40, 3)) * [1, 5, 0.2] + [7, 0, -3]
    frame = fit_standard(table, 4)
    np.testing.assert_allclose(frame.rows(frame(table)[:, :3]), table, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="fewer axes than the 3 columns"):
        fit_standard(table, 2).rows(frame(table)[:, :2])
