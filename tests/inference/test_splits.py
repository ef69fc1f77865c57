import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.mixture import GaussianMixture
from torch import Tensor

from coterie.functional.em import Gaussians, maximisation
from coterie.inference.consolidate import complexity
from coterie.inference.splits import best_splits


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def random_case(
    seed: int, n_points: int, n_clusters: int, columns: int = 2
) -> tuple[Tensor, Gaussians]:
    generator = torch.Generator().manual_seed(seed)
    mixture = Gaussians(
        normal(generator, n_clusters).log_softmax(0),
        2 * normal(generator, n_clusters, columns),
        0.3 * normal(generator, n_clusters, columns),
    )
    return 2 * normal(generator, n_points, columns), mixture


def around(means: list[list[float]], sizes: list[int], seed: int = 0) -> Tensor:
    """Points (n, D) of round clusters."""
    noise = normal(torch.Generator().manual_seed(seed), sum(sizes), len(means[0]))
    centre = torch.tensor(means, dtype=torch.float64).repeat_interleave(torch.tensor(sizes), 0)
    return centre + 0.25 * noise


def one_component(points: Tensor) -> Gaussians:
    return maximisation(points, points.new_ones(len(points), 1), pseudo_count=1.0)


def joint(points: Tensor, mixture: Gaussians) -> NDArray[np.float64]:
    """log pi + log N of points (n, D) under K Gaussians, in scipy's words: (n, K)."""
    density = norm.logpdf(points[:, None], mixture.mean, mixture.log_scale.exp())
    return density.sum(-1) + mixture.log_weight.numpy()


def half_mixture(halves: Gaussians, number: int) -> Gaussians:
    """The two halves of one component."""
    return Gaussians(*(part[number] for part in halves))


@given(
    seed=st.integers(0, 2**31),
    n_points=st.integers(1, 60),
    n_clusters=st.integers(1, 7),
    columns=st.integers(1, 3),
)
@settings(max_examples=40)
def test_gain_is_what_the_halves_add_to_the_log_likelihood(seed, n_points, n_clusters, columns):
    points, mixture = random_case(seed, n_points, n_clusters, columns)
    splits = best_splits(points, mixture)
    whole = joint(points, mixture)
    owner = whole.argmax(1)
    for number in range(n_clusters):
        own = owner == number
        halves = joint(points[own], half_mixture(splits.halves, number))
        expected = (logsumexp(halves, axis=1) - whole[own, number]).sum() if own.any() else 0.0
        assert float(splits.gain[number]) == pytest.approx(expected, rel=1e-9, abs=1e-8)


@given(
    seed=st.integers(0, 2**31),
    n_points=st.integers(1, 60),
    n_clusters=st.integers(1, 7),
    columns=st.integers(1, 3),
)
@settings(max_examples=40)
def test_halves_share_the_weight_of_their_component(seed, n_points, n_clusters, columns):
    points, mixture = random_case(seed, n_points, n_clusters, columns)
    gain, halves = best_splits(points, mixture)
    assert gain.shape == (n_clusters,)
    assert halves.log_weight.shape == (n_clusters, 2)
    assert halves.mean.shape == halves.log_scale.shape == (n_clusters, 2, columns)
    assert all(torch.isfinite(part).all() for part in (gain, *halves))
    torch.testing.assert_close(halves.log_weight.logsumexp(1), mixture.log_weight)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_halves_are_those_of_scikit_learn(columns):
    # Far apart, every point is wholly of one half, and what is left of the two programs' difference
    # is the imaginary point in the variances.
    for axis in np.eye(columns):
        points = around([(1 - 2 * axis).tolist(), (1 + 2 * axis).tolist()], [120, 60])
        whole = one_component(points)
        mean, scale = whole.mean[0].numpy(), whole.log_scale.exp()[0].numpy()
        expected = GaussianMixture(
            2,
            covariance_type="diag",
            means_init=mean + 0.8 * scale * np.stack([axis, -axis]),
            weights_init=[0.5, 0.5],
            precisions_init=1 / np.tile((1 - 0.6 * axis) * scale**2, (2, 1)),
            reg_covar=0.0,
        ).fit(points)
        halves = half_mixture(best_splits(points, whole).halves, 0)
        mass = len(points) * expected.weights_[:, None]
        variance = (mass * expected.covariances_ + scale**2) / (mass + 1)
        np.testing.assert_allclose(halves.log_weight.exp(), expected.weights_)
        np.testing.assert_allclose(halves.mean, expected.means_)
        np.testing.assert_allclose((2 * halves.log_scale).exp(), variance)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_cut_goes_through_the_axis_that_gains_most(axis):
    gap = [[0.0, 0.0], [0.0, 0.0]]
    gap[1][axis] = 1.5
    points = around(gap, [80, 80])
    halves = half_mixture(best_splits(points, one_component(points)).halves, 0)
    lower, upper = sorted(halves.mean.tolist(), key=lambda mean: mean[axis])
    assert lower == pytest.approx(gap[0], abs=0.1)
    assert upper == pytest.approx(gap[1], abs=0.1)


def test_a_gain_is_worth_it_for_two_clusters_and_not_for_one():
    def pays(points: Tensor) -> bool:
        whole = one_component(points)
        gain, halves = best_splits(points, whole)
        extra = complexity(half_mixture(halves, 0), len(points)) - complexity(whole, len(points))
        return float(gain) > extra

    one = [pays(around([[0.0, 0.0]], [200], seed)) for seed in range(40)]
    two = [pays(around([[0.0, 0.0], [1.25, 0.0]], [100, 100], seed)) for seed in range(40)]
    assert sum(one) <= 2
    assert sum(two) >= 38


def test_every_component_is_cut_among_its_own_points_alone():
    points, mixture = random_case(3, 80, 4)
    together = best_splits(points, mixture)
    owner = joint(points, mixture).argmax(1)
    for number in range(4):
        alone = best_splits(
            points[owner == number], Gaussians(*(part[number : number + 1] for part in mixture))
        )
        torch.testing.assert_close(together.gain[number], alone.gain[0])
        torch.testing.assert_close(
            half_mixture(together.halves, number), half_mixture(alone.halves, 0)
        )


def test_a_component_without_points_gains_nothing_and_disturbs_nobody():
    points = around([[0.0, 0.0], [4.0, 0.0]], [50, 50])
    mixture = maximisation(points, torch.eye(2).double().repeat_interleave(50, 0), pseudo_count=1.0)
    nobody = ([-3.0], [[90.0, 90.0]], [[-1.0, -1.0]])
    parts = zip(mixture, map(points.new_tensor, nobody), strict=True)
    crowd = Gaussians(*(torch.cat(part) for part in parts))
    gain, halves = best_splits(points, crowd)
    assert float(gain[2]) == 0
    assert all(torch.isfinite(part).all() for part in halves)
    torch.testing.assert_close(gain[:2], best_splits(points, mixture).gain)


def test_the_order_of_points_and_components_does_not_matter():
    points, mixture = random_case(5, 70, 3)
    gain, halves = best_splits(points, mixture)
    order = torch.tensor([2, 0, 1])
    shuffled = points[torch.randperm(70, generator=torch.Generator().manual_seed(0))]
    again = best_splits(shuffled, Gaussians(*(part[order] for part in mixture)))
    torch.testing.assert_close(again.gain, gain[order])
    torch.testing.assert_close(again.halves, Gaussians(*(part[order] for part in halves)))


def test_input_is_left_alone():
    points, mixture = random_case(0, 30, 3)
    before = points.clone(), *(part.clone() for part in mixture)
    best_splits(points, mixture)
    for now, then in zip((points, *mixture), before, strict=True):
        assert torch.equal(now, then)
