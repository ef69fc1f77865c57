import itertools
import math

import numpy as np
import pytest
import torch
from sklearn.mixture import GaussianMixture

from coterie import metrics
from coterie.functional.em import expectation, maximisation
from coterie.functional.partitions import one_hot

SHAPES = pytest.mark.parametrize(("k_true", "k"), [(3, 3), (2, 4), (4, 2), (1, 3)])


def labels(k: int, seed: int, n: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).integers(k, size=n)


@SHAPES
def test_accuracy_is_the_best_one_to_one_matching(k_true, k):
    true, found = labels(k_true, 0), labels(k, 1)
    # Names from k_true on are matched with nothing: a cluster too many is an error.
    names = range(max(k_true, k))
    best = max(np.mean(np.array(name)[found] == true) for name in itertools.permutations(names, k))
    assert metrics.accuracy(true, found) == pytest.approx(best)


def test_points_outside_the_matching_are_wrong():
    right = metrics.rightly_clustered([7, 7, 7, 5, 5, 9], [0, 0, 1, 1, 1, 1])
    assert right.tolist() == [True, True, False, True, True, False]


def test_unmatched_clusters_are_errors():
    assert metrics.accuracy([0, 0, 0, 0], [0, 0, 1, 2]) == 0.5
    assert metrics.accuracy([0, 0, 1, 2], [0, 0, 0, 0]) == 0.5


@SHAPES
def test_nmi_is_over_the_geometric_mean(k_true, k):
    true, found = labels(k_true, 0), labels(k, 1)
    joint = np.array(
        [[np.mean((true == i) & (found == j)) for j in range(k)] for i in range(k_true)]
    )

    def entropy(p):
        p = p[p > 0]
        return -(p * np.log(p)).sum()

    h_true, h_found = entropy(joint.sum(1)), entropy(joint.sum(0))
    information = h_true + h_found - entropy(joint.ravel())
    expected = information / math.sqrt(h_true * h_found) if h_true * h_found else 0.0
    assert metrics.nmi(true, found) == pytest.approx(expected, abs=1e-12)


def test_nmi_tells_the_geometric_from_the_arithmetic_mean():
    # Information log 2, entropies log 2 and log 4.
    assert metrics.nmi([0, 0, 1, 1], [0, 1, 2, 3]) == pytest.approx(1 / math.sqrt(2))


@SHAPES
def test_ari_counts_pairs(k_true, k):
    true, found = labels(k_true, 0), labels(k, 1)
    pairs = list(itertools.combinations(range(len(true)), 2))
    together_true = np.array([true[i] == true[j] for i, j in pairs])
    together = np.array([found[i] == found[j] for i, j in pairs])
    chance = together_true.sum() * together.sum() / len(pairs)
    ceiling = (together_true.sum() + together.sum()) / 2
    expected = ((together_true & together).sum() - chance) / (ceiling - chance)
    assert metrics.ari(true, found) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("score", [metrics.accuracy, metrics.nmi, metrics.ari])
def test_names_of_clusters_do_not_matter(score):
    true, found = labels(3, 0), labels(4, 1)
    renamed = np.array([7, -1, 3, 0])[found]
    assert score(true, renamed) == pytest.approx(score(true, found))
    assert score(true, np.array([2, 0, 1])[true]) == pytest.approx(1.0)


def test_dbi_of_two_pairs():
    points = np.array([[0.0], [2.0], [10.0], [14.0]])
    # Mean distances to the centres 1 and 2, centres 11 apart.
    assert metrics.dbi(points, [0, 0, 1, 1]) == pytest.approx((1 + 2) / 11)


@pytest.mark.parametrize("found", [[0, 0, 0, 0], [0, 1, 2, 3]])
def test_dbi_has_no_value_without_2_to_n_minus_1_clusters(found):
    assert math.isnan(metrics.dbi(np.arange(4.0)[:, None], found))


def test_k_error_counts_the_clusters_that_occur():
    assert metrics.k_error([0, 0, 1, 1], [0, 2, 5, 7]) == 2
    assert metrics.k_error([0, 1, 2, 9], [4, 4, 4, 4]) == 3
    assert metrics.k_error([0, 1], [3, 8]) == 0


def clusters_with_a_lone_point() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    found = np.append(np.repeat([0, 2], [25, 14]), 5)
    return rng.normal(size=(40, 2)) * [1.0, 3.0] + found[:, None], found


def test_gaussian_log_likelihood_agrees_with_sklearn():
    points, found = clusters_with_a_lone_point()
    groups = [points[found == name] for name in (0, 2, 5)]
    scatters = np.array([((group - group.mean(0)) ** 2).sum(0) for group in groups])
    sizes = np.array([len(group) for group in groups])
    pooled = scatters.sum(0) / 40
    model = GaussianMixture(3, covariance_type="diag")
    model.weights_ = sizes / 40
    model.means_ = np.array([group.mean(0) for group in groups])
    # One pseudo-point of the pooled variance in every cluster.
    model.covariances_ = (scatters + pooled) / (sizes[:, None] + 1)
    model.precisions_cholesky_ = 1 / np.sqrt(model.covariances_)
    assert metrics.gaussian_log_likelihood(points, found) == pytest.approx(model.score(points))


def test_gaussian_log_likelihood_is_that_of_the_em_steps():
    points, found = clusters_with_a_lone_point()
    x = torch.from_numpy(points)
    mixture = maximisation(
        x, one_hot(torch.tensor(found), 6).double(), pseudo_count=1.0, variance_floor=0.0
    )
    _, log_likelihood = expectation(x, mixture)
    expected = float(log_likelihood.mean())
    assert metrics.gaussian_log_likelihood(points, found) == pytest.approx(expected)


def test_gaussian_log_likelihood_prefers_the_truth():
    points = np.random.default_rng(0).normal(size=(60, 2))
    points[30:] += 8.0
    truth, halves = np.repeat([0, 1], 30), np.tile([0, 1], 30)
    right, blind, wrong = (
        metrics.gaussian_log_likelihood(points, found) for found in (truth, np.zeros(60), halves)
    )
    assert right > max(blind, wrong) + 0.5
