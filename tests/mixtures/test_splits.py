import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from coterie.mixtures.em import Mixture, estimate, explain
from coterie.mixtures.evidence import MixturePrior, own_prior, trained_prior
from coterie.mixtures.splits import Splits, best_splits, with_halves

Points = NDArray[np.float64]

SCALE = 0.25


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
    return np.array(means).repeat(sizes, 0) + SCALE * noise


def split(points: Points, mixture: Mixture, scale: float = SCALE, **settings) -> Splits:
    prior = trained_prior(points.T, scale)
    return best_splits(points.T, explain(points.T, mixture), prior, **settings)


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


CASES = {
    "seed": st.integers(0, 2**31),
    "n_points": st.integers(1, 60),
    "n_clusters": st.integers(1, 7),
    "columns": st.integers(1, 3),
}


def owned(masses: Points, log_scale: Points, prior: MixturePrior) -> float:
    """What is left of the density of means and scales once their peaks are integrated.

    masses: (H,); log_scale: (H, D). A mean of n points of scale s has the variance s^2 / n, and a
    log scale 1 / (2 n), before the prior is multiplied in.
    """
    n = masses[:, None]
    narrower = 1 + n * (prior.place_spread / np.exp(log_scale)) ** 2
    width = 2 * np.pi / (2 * n + prior.scale_spread**-2)
    at = norm.logpdf(log_scale, prior.log_scale, prior.scale_spread)
    return float((at + 0.5 * np.log(width) - 0.5 * np.log(narrower)).sum())


def evidence_of_one(points: Points, prior: MixturePrior) -> float:
    """The same of one Gaussian around its mean, at its most probable scale."""
    typical, mean = prior.log_scale, points.mean(0)

    def log_posterior(log_scale: Points) -> float:
        density = norm.logpdf(points, mean, np.exp(log_scale)).sum()
        return float(density + norm.logpdf(log_scale, typical, prior.scale_spread).sum())

    log_scale = minimize(lambda at: -log_posterior(at), typical).x[None]
    density = norm.logpdf(points, mean, np.exp(log_scale[0])).sum()
    return float(density) + owned(np.array([float(len(points))]), log_scale, prior)


@pytest.mark.parametrize("gap", [0.0, 0.5, 1.5])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_gain_is_in_evidence_as_if_every_point_had_one_owner(gap, columns):
    points = around([[0.0] * columns, [gap] * columns], [60, 30])
    prior = trained_prior(points.T, SCALE)
    mixture = one_component(points)
    gain, halves = best_splits(points.T, explain(points.T, mixture), prior)
    two = half_mixture(halves, 0)
    n = len(points)
    masses = np.exp(two.log_weight) * (n + 2) - 1
    after = logsumexp(joint(points, two), axis=1).sum()
    after += owned(masses, two.log_scale, prior)
    # Of the share, uniform before: 1 / sqrt(n / (w (1 - w)) / 2 pi); and two names to give.
    share = 0.5 * np.log(2 * np.pi * masses.prod() / n**3) + np.log(2)
    expected = after + share - evidence_of_one(points, prior)
    assert float(gain[0]) == pytest.approx(expected, abs=0.05)


@given(**CASES)
@settings(max_examples=40)
def test_halves_share_the_weight_of_their_component(seed, n_points, n_clusters, columns):
    points, mixture = random_case(seed, n_points, n_clusters, columns)
    gain, halves = split(points, mixture)
    assert gain.shape == (n_clusters,)
    assert halves.log_weight.shape == (n_clusters, 2)
    assert halves.mean.shape == halves.log_scale.shape == (n_clusters, 2, columns)
    assert all(np.isfinite(part).all() for part in halves)
    assert not np.isnan(gain).any()
    np.testing.assert_allclose(logsumexp(halves.log_weight, 1), mixture.log_weight, atol=1e-4)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_halves_are_those_of_scikit_learn(columns):
    # Far apart, every point is wholly of one half, and with scales held loosely what is left of the
    # two programs' difference is small.
    for axis in np.eye(columns):
        points = around([(1 - 2 * axis).tolist(), (1 + 2 * axis).tolist()], [120, 60])
        whole = one_component(points)
        expected = GaussianMixture(
            2, covariance_type="diag", reg_covar=0, means_init=[1 - 2 * axis, 1 + 2 * axis]
        ).fit(points)
        loose = own_prior(points.T, whole)
        halves = best_splits(points.T, explain(points.T, whole), loose, em_steps=12).halves
        found = half_mixture(halves, 0)
        order = found.mean.sum(1).argsort()
        np.testing.assert_allclose(np.exp(found.log_weight[order]), expected.weights_, atol=0.01)
        np.testing.assert_allclose(found.mean[order], expected.means_, atol=1e-3)
        scale = np.sqrt(expected.covariances_)
        np.testing.assert_allclose(np.exp(found.log_scale[order]), scale, rtol=0.05)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_cut_goes_through_the_axis_that_gains_most(axis):
    gap = [[0.0, 0.0], [0.0, 0.0]]
    gap[1][axis] = 1.5
    points = around(gap, [80, 80])
    halves = half_mixture(split(points, one_component(points)).halves, 0)
    lower, upper = sorted(halves.mean.tolist(), key=lambda mean: mean[axis])
    assert lower == pytest.approx(gap[0], abs=0.1)
    assert upper == pytest.approx(gap[1], abs=0.1)


def test_there_is_a_gain_for_two_clusters_and_not_for_one():
    def pays(points: Points) -> bool:
        return bool(split(points, one_component(points)).gain[0] > 0)

    one = [pays(around([[0.0, 0.0]], [200], seed)) for seed in range(40)]
    two = [pays(around([[0.0, 0.0], [1.0, 0.0]], [100, 100], seed)) for seed in range(40)]
    small = [pays(around([[0.0, 0.0], [1.25, 0.0]], [150, 9], seed)) for seed in range(40)]
    assert sum(one) <= 1
    assert sum(two) >= 38
    assert sum(small) >= 38


def test_every_component_is_cut_among_its_own_points_alone():
    points, mixture = random_case(3, 80, 4)
    prior = trained_prior(points.T, 1.0)
    together = best_splits(points.T, explain(points.T, mixture), prior)
    owner = joint(points, mixture).argmax(1)
    for number in range(4):
        own, one = points[owner == number], mixture.take([number])
        alone = best_splits(own.T, explain(own.T, one), prior)
        # Among four there is one name more to give than for one, and less weight to share.
        names, weights = np.log(4 * 5 / 2), np.log(len(own) / len(points))
        assert together.gain[number] == pytest.approx(alone.gain[0] + names + weights, abs=1e-3)
        mine, theirs = (
            half_mixture(each.halves, i) for each, i in ((together, number), (alone, 0))
        )
        for one_part, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(one_part, other, atol=1e-4)


@pytest.mark.parametrize("n_points", [0, 1, 3])
def test_a_component_with_hardly_a_point_gains_nothing_and_disturbs_nobody(n_points):
    points = around([[0.0, 0.0], [4.0, 0.0]], [50, 50])
    mixture = estimate(points.T, np.eye(2).repeat(50, 1))
    lonely = ([-3.0], [[90.0, 90.0]], [[-1.0, -1.0]])
    crowd = Mixture(*(np.concatenate(part) for part in zip(mixture, lonely, strict=True)))
    gain, halves = split(np.vstack([points, 90 * np.ones((n_points, 2))]), crowd)
    assert gain[2] == -np.inf
    assert all(np.isfinite(part).all() for part in halves)
    assert np.isfinite(gain[:2]).all()


def test_halves_take_the_place_of_their_component():
    points, mixture = random_case(2, 60, 3)
    splits = split(points, mixture)
    halved = with_halves(mixture, splits, np.array([False, True, False]))
    assert halved.n_clusters == 4
    assert halved.mean[:2].tolist() == mixture.mean[[0, 2]].tolist()
    assert halved.mean[2:].tolist() == splits.halves.mean[1].tolist()


@pytest.mark.parametrize("far", [1e4, 1e12])
def test_a_point_far_from_everything_is_no_error(far):
    points = np.vstack([around([[0.0, 0.0]], [50]), [[far, 0.0]]])
    gain, halves = split(points, one_component(points))
    assert not np.isnan(gain).any()
    assert all(np.isfinite(part).all() for part in halves)


def test_the_order_of_points_and_components_does_not_matter():
    points, mixture = random_case(5, 70, 3)
    gain, halves = split(points, mixture, 1.0)
    order = [2, 0, 1]
    shuffled = np.random.default_rng(0).permutation(points)
    again = split(shuffled, mixture.take(order), 1.0)
    np.testing.assert_allclose(again.gain, gain[order], atol=1e-3)
    for one, other in zip(again.halves, halves.take(order), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_input_is_left_alone():
    points, mixture = random_case(0, 30, 3)
    before = points.copy(), *(part.copy() for part in mixture)
    split(points, mixture)
    for now, then in zip((points, *mixture), before, strict=True):
        assert (now == then).all()
