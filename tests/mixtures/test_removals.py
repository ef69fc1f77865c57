import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import norm

from coterie.mixtures import removals as module
from coterie.mixtures.em import Fit, Mixture, explain
from coterie.mixtures.removals import cheapest_removal

Points = NDArray[np.float64]


def log_likelihood(points: Points, mixture: Mixture) -> float:
    """Of all points under a mixture, in scipy's words."""
    density = norm.logpdf(points[:, None], mixture.mean, np.exp(mixture.log_scale)).sum(-1)
    return float(logsumexp(density + mixture.log_weight, axis=1).sum())


def explained(points: Points, mixture: Mixture) -> Fit:
    return explain(points.T, mixture)


def without(mixture: Mixture, victim: int) -> Mixture:
    kept = [j for j in range(mixture.n_clusters) if j != victim]
    weight = np.exp(mixture.log_weight[kept])
    return Mixture(np.log(weight / weight.sum()), mixture.mean[kept], mixture.log_scale[kept])


def with_merged(mixture: Mixture, pair: tuple[int, int]) -> Mixture:
    """Two components replaced by one with the mean and the variance of what both describe."""
    kept = [j for j in range(mixture.n_clusters) if j not in pair]
    pair = list(pair)
    weight = np.exp(mixture.log_weight[pair])
    share = (weight / weight.sum())[:, None]
    mean = (share * mixture.mean[pair]).sum(0)
    second_moment = np.exp(2 * mixture.log_scale[pair]) + mixture.mean[pair] ** 2
    variance = (share * second_moment).sum(0) - mean**2
    return Mixture(
        np.append(mixture.log_weight[kept], np.log(weight.sum())),
        np.vstack([mixture.mean[kept], mean]),
        np.vstack([mixture.log_scale[kept], 0.5 * np.log(variance)]),
    )


def overlapping(seed: int, n_clusters: int = 4) -> tuple[Points, Mixture]:
    """A mixture whose components share their points, and points drawn at random."""
    normal = np.random.default_rng(seed).normal
    weight = np.exp(normal(size=n_clusters))
    mixture = Mixture(
        np.log(weight / weight.sum()),
        normal(size=(n_clusters, 2)),
        0.2 * normal(size=(n_clusters, 2)),
    )
    return normal(size=(40, 2)), mixture


def two_groups(weight: list[float], mean: list[list[float]]) -> tuple[Points, Mixture]:
    """Standard normal points around (0, 0) and (6, 0), and a mixture of unit Gaussians."""
    points, _ = overlapping(0)
    points[:20, 0] += 6
    means = np.array(mean, dtype=np.float64)
    return points, Mixture(np.log(weight), means, np.zeros_like(means))


def assert_same(one: Mixture, other: Mixture) -> None:
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_cheapest_removal_is_the_least_of_all_drops_and_merges(seed):
    points, mixture = overlapping(seed)
    before = log_likelihood(points, mixture)
    drops = [before - log_likelihood(points, without(mixture, j)) for j in range(4)]
    merges = [
        before - log_likelihood(points, with_merged(mixture, pair))
        for pair in itertools.combinations(range(4), 2)
    ]
    assert cheapest_removal(points.T, explained(points, mixture)).cost == pytest.approx(
        min(drops + merges), abs=1e-8
    )


@pytest.mark.parametrize("seed", range(8))
def test_cost_of_a_removal_is_what_the_log_likelihood_loses(seed):
    points, mixture = overlapping(seed)
    removal = cheapest_removal(points.T, explained(points, mixture))
    lost = log_likelihood(points, mixture) - log_likelihood(points, removal.mixture)
    assert removal.mixture.n_clusters == 3
    assert removal.cost == pytest.approx(lost, abs=1e-8)


def test_a_component_that_describes_nothing_is_dropped():
    points, mixture = two_groups([0.4, 0.2, 0.4], [[0, 0], [30, 30], [6, 0]])
    removal = cheapest_removal(points.T, explained(points, mixture))
    assert removal.cost == pytest.approx(40 * math.log(0.8))  # a gain: the others get its weight
    assert removal.mixture.mean.tolist() == [[0, 0], [6, 0]]
    assert np.exp(removal.mixture.log_weight).tolist() == pytest.approx([0.5, 0.5])


def test_two_halves_of_a_cluster_are_merged():
    points, mixture = two_groups([0.25, 0.5, 0.25], [[0, 0], [6, 0], [0, 0]])
    removal = cheapest_removal(points.T, explained(points, mixture))
    assert removal.cost == pytest.approx(0, abs=1e-8)
    assert removal.mixture.mean.tolist() == [[6, 0], [0, 0]]
    assert np.exp(removal.mixture.log_weight).tolist() == pytest.approx([0.5, 0.5])


def test_pairs_are_compared_in_blocks_of_any_size(monkeypatch):
    points, mixture = overlapping(0, n_clusters=6)
    whole = cheapest_removal(points.T, explained(points, mixture))
    monkeypatch.setattr(module, "PAIRS_AT_A_TIME", 4)
    parts = cheapest_removal(points.T, explained(points, mixture))
    assert parts.cost == pytest.approx(whole.cost)
    assert_same(parts.mixture, whole.mixture)


def test_a_point_far_from_everything_keeps_the_costs_finite():
    points, mixture = overlapping(0)
    points[0] = 1e4
    assert math.isfinite(cheapest_removal(points.T, explained(points, mixture)).cost)
