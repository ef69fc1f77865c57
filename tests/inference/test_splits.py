import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from coterie.inference.consolidate import complexity
from coterie.inference.mixture import Mixture, estimate, explain
from coterie.inference.splits import Splits, best_splits

Points = NDArray[np.float64]


def random_case(
    seed: int, n_points: int, n_clusters: int, columns: int = 2
) -> tuple[Points, Mixture]:
    normal = np.random.default_rng(seed).normal
    weight, shape = np.exp(normal(size=n_clusters)), (n_clusters, columns)
    mixture = Mixture(
        np.log(weight / weight.sum()), 2 * normal(size=shape), 0.3 * normal(size=shape)
    )
    return 2 * normal(size=(n_points, columns)), mixture


def around(means: list[list[float]], sizes: list[int], seed: int = 0) -> Points:
    """Points (n, D) of round clusters."""
    noise = np.random.default_rng(seed).normal(size=(sum(sizes), len(means[0])))
    return np.array(means).repeat(sizes, 0) + 0.25 * noise


def split(points: Points, mixture: Mixture) -> Splits:
    return best_splits(points.T, explain(points.T, mixture))


def one_component(points: Points) -> Mixture:
    return estimate(points.T, np.ones((1, len(points))))


def joint(points: Points, mixture: Mixture) -> Points:
    """log pi + log N of points (n, D) under K Gaussians, in scipy's words: (n, K)."""
    density = norm.logpdf(points[:, None], mixture.mean, np.exp(mixture.log_scale))
    return density.sum(-1) + mixture.log_weight


def half_mixture(halves: Mixture, number: int) -> Mixture:
    """The two halves of one component."""
    return Mixture(*(part[number] for part in halves))


def assert_same(one: Mixture, other: Mixture) -> None:
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


@given(
    seed=st.integers(0, 2**31),
    n_points=st.integers(1, 60),
    n_clusters=st.integers(1, 7),
    columns=st.integers(1, 3),
)
@settings(max_examples=40)
def test_gain_is_what_the_halves_add_to_the_log_likelihood(seed, n_points, n_clusters, columns):
    points, mixture = random_case(seed, n_points, n_clusters, columns)
    splits = split(points, mixture)
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
    gain, halves = split(points, mixture)
    assert gain.shape == (n_clusters,)
    assert halves.log_weight.shape == (n_clusters, 2)
    assert halves.mean.shape == halves.log_scale.shape == (n_clusters, 2, columns)
    assert all(np.isfinite(part).all() for part in (gain, *halves))
    np.testing.assert_allclose(logsumexp(halves.log_weight, 1), mixture.log_weight, atol=1e-12)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_halves_are_those_of_scikit_learn(columns):
    # Far apart, every point is wholly of one half, and what is left of the two programs' difference
    # is the imaginary point in the variances.
    for axis in np.eye(columns):
        points = around([(1 - 2 * axis).tolist(), (1 + 2 * axis).tolist()], [120, 60])
        whole = one_component(points)
        mean, scale = whole.mean[0], np.exp(whole.log_scale)[0]
        expected = GaussianMixture(
            2,
            covariance_type="diag",
            means_init=mean + 0.8 * scale * np.stack([axis, -axis]),
            weights_init=[0.5, 0.5],
            precisions_init=1 / np.tile((1 - 0.6 * axis) * scale**2, (2, 1)),
            reg_covar=0.0,
        ).fit(points)
        halves = half_mixture(split(points, whole).halves, 0)
        mass = len(points) * expected.weights_[:, None]
        variance = (mass * expected.covariances_ + scale**2) / (mass + 1)
        np.testing.assert_allclose(np.exp(halves.log_weight), expected.weights_)
        np.testing.assert_allclose(halves.mean, expected.means_)
        np.testing.assert_allclose(np.exp(2 * halves.log_scale), variance)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_cut_goes_through_the_axis_that_gains_most(axis):
    gap = [[0.0, 0.0], [0.0, 0.0]]
    gap[1][axis] = 1.5
    points = around(gap, [80, 80])
    halves = half_mixture(split(points, one_component(points)).halves, 0)
    lower, upper = sorted(halves.mean.tolist(), key=lambda mean: mean[axis])
    assert lower == pytest.approx(gap[0], abs=0.1)
    assert upper == pytest.approx(gap[1], abs=0.1)


def test_a_gain_is_worth_it_for_two_clusters_and_not_for_one():
    def pays(points: Points) -> bool:
        whole = one_component(points)
        gain, halves = split(points, whole)
        extra = complexity(half_mixture(halves, 0), len(points)) - complexity(whole, len(points))
        return bool(gain[0] > extra)

    one = [pays(around([[0.0, 0.0]], [200], seed)) for seed in range(40)]
    two = [pays(around([[0.0, 0.0], [1.25, 0.0]], [100, 100], seed)) for seed in range(40)]
    assert sum(one) <= 2
    assert sum(two) >= 38


def test_every_component_is_cut_among_its_own_points_alone():
    points, mixture = random_case(3, 80, 4)
    together = split(points, mixture)
    owner = joint(points, mixture).argmax(1)
    for number in range(4):
        alone = split(points[owner == number], mixture.take([number]))
        assert together.gain[number] == pytest.approx(alone.gain[0])
        assert_same(half_mixture(together.halves, number), half_mixture(alone.halves, 0))


def test_a_component_without_points_gains_nothing_and_disturbs_nobody():
    points = around([[0.0, 0.0], [4.0, 0.0]], [50, 50])
    mixture = estimate(points.T, np.eye(2).repeat(50, 1))
    nobody = ([-3.0], [[90.0, 90.0]], [[-1.0, -1.0]])
    crowd = Mixture(*(np.concatenate(part) for part in zip(mixture, nobody, strict=True)))
    gain, halves = split(points, crowd)
    assert float(gain[2]) == 0
    assert all(np.isfinite(part).all() for part in halves)
    np.testing.assert_allclose(gain[:2], split(points, mixture).gain)


def test_the_order_of_points_and_components_does_not_matter():
    points, mixture = random_case(5, 70, 3)
    gain, halves = split(points, mixture)
    order = [2, 0, 1]
    shuffled = np.random.default_rng(0).permutation(points)
    again = split(shuffled, mixture.take(order))
    np.testing.assert_allclose(again.gain, gain[order])
    assert_same(again.halves, halves.take(order))


def test_input_is_left_alone():
    points, mixture = random_case(0, 30, 3)
    before = points.copy(), *(part.copy() for part in mixture)
    split(points, mixture)
    for now, then in zip((points, *mixture), before, strict=True):
        assert (now == then).all()
