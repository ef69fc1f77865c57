import math
from itertools import combinations

import numpy as np
import pytest
from scipy.special import gammaln

from coterie.mixtures.covariances import log_evidence, with_reach
from coterie.mixtures.gaussians import moments
from coterie.mixtures.pair_merges import best_merge, drop_gains, joined, with_one_less
from coterie.mixtures.shared_fit import (
    cloud_of,
    entropy,
    fit_from,
    members,
    weighed,
    weight_evidence,
)


@pytest.fixture
def three():
    """Three blobs in three columns, centred, and their labels."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [60, 40, 50])
    points = rng.standard_normal((150, 3)) + 2.5 * np.eye(3)[labels]
    return points - points.mean(0), labels


def test_sizes_are_a_dirichlet_multinomial_of_nameless_clusters():
    """Of 3 points in two clusters: (2, 1) has a probability of 1/12 a partition, by two names."""
    assert weight_evidence(np.array([2.0, 1.0])) == pytest.approx(math.log(2 / 12))
    assert weight_evidence(np.array([7.0])) == pytest.approx(0.0)


def test_entropy_is_that_of_coins():
    assert entropy(np.full((2, 10), 0.5)) == pytest.approx(10 * math.log(2))
    assert entropy(np.eye(3)) == 0


def test_points_without_a_cluster_are_shared_out(three):
    points, labels = three
    labels = np.where(np.arange(150) % 3 == 0, -1, labels)
    fit = fit_from(cloud_of(points), members(labels), 16.0, steps=5)
    assert fit.responsibilities.sum(0) == pytest.approx(1)
    assert (members(np.full(4, -1)) == 1).all()


def test_clusters_that_no_point_has_are_none():
    assert members(np.array([0, 3, 3, -1])).tolist() == [[1, 0, 0, 0], [0, 1, 1, 0]]


def test_em_never_loses_likelihood_by_much(three):
    """The imaginary points may cost a little; the likelihood itself climbs."""
    points, labels = three
    cloud, start = cloud_of(points), members((labels + np.arange(150) % 2) % 3)
    likelihood = [fit_from(cloud, start, 1.0, steps=steps).log_likelihood for steps in (1, 3, 10)]
    assert likelihood == sorted(likelihood)


def test_joint_moments_are_those_of_the_points_together(three):
    points, labels = three
    cloud = cloud_of(points)
    apart = weighed(cloud, members(labels), 0.0).parts
    together = weighed(cloud, members(np.where(labels == 2, 1, labels)), 0.0).parts
    both = joined(apart.take([1]), apart.take([2]))
    for found, expected in zip(both, together.take([1]), strict=True):
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("n_pieces", [3, 5, 9])
def test_the_best_merge_changes_the_evidence_most(three, n_pieces):
    """Of the clusters alone: the common covariance, strength and reach stay as they are."""
    points, labels = three
    cloud = cloud_of(points)
    pieces = labels + 3 * (np.arange(150) % (n_pieces // 3 + 1))
    fit = fit_from(cloud, members(pieces % n_pieces), 16.0, steps=20)
    frame = with_reach(cloud.frame, fit.parts)
    r = fit.responsibilities

    def evidence(responsibilities):
        parts = moments(cloud.rows, responsibilities, 3)
        each = log_evidence(parts, fit.base.covariance, fit.strength, frame)
        return float((each + gammaln(parts.mass + 1)).sum()) + entropy(responsibilities)

    changes = {}
    for a, b in combinations(range(n_pieces), 2):
        merged = np.concatenate([np.delete(r, [a, b], 0), (r[a] + r[b])[None]])
        changes[a, b] = evidence(merged) - evidence(r)
    found = best_merge(cloud, fit)
    assert found.gain == pytest.approx(max(changes.values()))
    assert changes[found.first, found.second] == max(changes.values())


def test_a_piece_is_taken_back(three):
    points, labels = three
    pieces = np.where((labels == 0) & (points[:, 1] > np.median(points[labels == 0, 1])), 3, labels)
    cloud = cloud_of(points)
    fit = fit_from(cloud, members(pieces), 16.0, steps=2)
    less = with_one_less(cloud, fit, steps=20)
    assert less.n_clusters == 3
    assert less.evidence > fit.evidence
    assert drop_gains(fit).shape == (4,)
