import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import norm

from coterie.metrics import ari
from coterie.mixtures import consolidate as module
from coterie.mixtures import evidence
from coterie.mixtures.consolidate import (
    complexity,
    consolidate,
    with_forced_splits,
    with_splits,
)
from coterie.mixtures.em import Fit, Mixture, estimate, explain, improve, settle
from coterie.mixtures.evidence import trained_prior
from coterie.mixtures.removals import cheapest_removal

Points = NDArray[np.float64]
Labels = NDArray[np.intp]

SCALE = 0.25
NEIGHBOURS = {
    "two in a row": [[0.0, 0.0], [1.5, 0.0]],
    "two in a column": [[0.0, 0.0], [0.0, 1.5]],
    "three in a row": [[0.0, 0.0], [1.5, 0.0], [3.0, 0.0]],
    "three in a corner": [[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]],
}


def log_likelihood(points: Points, mixture: Mixture) -> float:
    """Of all points under a mixture, in scipy's words."""
    density = norm.logpdf(points[:, None], mixture.mean, np.exp(mixture.log_scale)).sum(-1)
    return float(logsumexp(density + mixture.log_weight, axis=1).sum())


def explained(points: Points, mixture: Mixture) -> Fit:
    return explain(points.T, mixture)


def truth(blobs) -> tuple[Points, Labels]:
    return blobs.points.astype(np.float64), blobs.labels.copy()


def sizes(mixture: Mixture, n_points: int) -> list[int]:
    return sorted((np.exp(mixture.log_weight) * n_points).round().astype(int).tolist())


def test_a_parameter_costs_half_a_log_of_the_points_behind_it():
    mixture = Mixture(np.log([0.25, 0.75]), np.eye(2), np.zeros((2, 2)))
    means_and_variances = 4 * 0.5 * (math.log(25) + math.log(75))
    weights = 2 * 0.5 * math.log(100)
    assert complexity(mixture, 100) == pytest.approx(means_and_variances + weights)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_truth_split_in_two_is_put_together_again(blobs, axis):
    points, labels = truth(blobs)
    centre = np.stack([points[labels == j].mean(0) for j in range(3)])
    half = points[:, axis] > centre[labels, axis]
    fit = consolidate(points, labels + 3 * half, 6)
    assert fit.mixture.n_clusters == 3
    assert ari(blobs.labels, fit.responsibilities.argmax(0)) == 1


@pytest.mark.parametrize("size", [2, 5, 50])
def test_a_real_cluster_is_never_taken_back(blobs, size):
    points, labels = truth(blobs)
    kept = (labels < 2) | ((labels == 2).cumsum() <= size)
    mixture = consolidate(points[kept], labels[kept], 3).mixture
    assert sizes(mixture, kept.sum()) == [size, 100, 150]


def test_without_removal_every_cluster_stays(blobs):
    points, labels = truth(blobs)
    fit = consolidate(points, labels + 3 * (points[:, 0] > 0), 6, change_k=False)
    assert fit.mixture.n_clusters == 6


def test_the_fit_is_that_of_its_mixture(blobs):
    points, labels = truth(blobs)
    fit = consolidate(points.astype(np.float32), labels, 3)
    again = explained(points.astype(np.float32).astype(np.float64), fit.mixture)
    np.testing.assert_allclose(fit.log_likelihood, again.log_likelihood, rtol=1e-12)
    np.testing.assert_allclose(fit.responsibilities, again.responsibilities, atol=1e-12)


def test_em_makes_the_partition_likelier(blobs):
    points, labels = truth(blobs)
    wrong = np.where(np.arange(len(labels)) % 7 == 0, (labels + 1) % 3, labels)
    first, later = (
        consolidate(points, wrong, 3, em_steps=n, change_k=False).mixture for n in (0, 5)
    )
    assert log_likelihood(points, later) > log_likelihood(points, first) + 10


def test_points_without_a_cluster_count_once_there_are_clusters(blobs):
    points, labels = truth(blobs)
    some_left_over = np.where(np.arange(len(labels)) % 5 == 0, -1, labels)
    assert sizes(consolidate(points, some_left_over, 3).mixture, 300) == [50, 100, 150]


def test_a_cluster_of_one_point_does_not_collapse(blobs):
    points, labels = truth(blobs)
    points, labels = np.vstack([points, [0.0, -9.0]]), np.append(labels, 3)
    mixture = consolidate(points, labels, 4).mixture
    lonely = mixture.mean[:, 1].argmin()
    assert mixture.n_clusters == 4
    assert (np.exp(mixture.log_scale[lonely]) > 0.1).all()


def test_a_cluster_for_every_point_is_far_too_many():
    points = np.random.default_rng(0).normal(size=(12, 2))
    mixture = consolidate(points, np.arange(12), 12).mixture
    assert all(np.isfinite(part).all() for part in mixture)


def test_one_point_and_equal_points_are_one_cluster():
    for points in (np.zeros((1, 2)), np.ones((9, 2))):
        mixture = consolidate(points, np.zeros(len(points), dtype=int), 1).mixture
        assert mixture.mean.tolist() == points[:1].tolist()
        assert np.isfinite(mixture.log_scale).all()


def test_equal_points_in_two_clusters_become_one():
    assert consolidate(np.ones((8, 2)), np.arange(8) % 2, 2).mixture.n_clusters == 1


def test_input_is_left_alone(blobs):
    points, labels = truth(blobs)
    before = points.copy(), labels.copy()
    consolidate(points, labels, 3, cluster_scale=SCALE)
    assert (points == before[0]).all()
    assert (labels == before[1]).all()


def assert_same(one: Mixture, other: Mixture) -> None:
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-7, atol=1e-7)


def test_a_cluster_in_many_pieces_comes_back_together():
    # No single removal pays here, all together do.
    points = np.random.default_rng(0).normal(size=(400, 2))
    outside = np.linalg.norm(points, axis=1) > 1.2
    pieces = (points[:, 0] > 0) + 2 * (points[:, 1] > 0) + 4 * outside
    assert consolidate(points, pieces, 8).mixture.n_clusters == 1


def around(means: list[list[float]], seed: int, size: int = 100) -> tuple[Points, Labels]:
    """Round clusters of SCALE, and who belongs where."""
    labels = np.arange(len(means)).repeat(size)
    noise = np.random.default_rng(seed).normal(size=(len(labels), 2))
    return np.array(means)[labels] + SCALE * noise, labels


def as_one(points: Points, **settings) -> Fit:
    """Consolidated from one cluster of all points."""
    return consolidate(points, np.zeros(len(points), dtype=int), 1, **settings)


def n_after_splits(points: Points, whole: Fit, **settings) -> int:
    """How many components there are once those that stand for two are split."""
    prior = trained_prior(points.T, SCALE)
    return with_splits(points.T, whole, 2, prior, **settings).fit.mixture.n_clusters


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_merged_neighbours_are_split(name, seed):
    points, labels = around(NEIGHBOURS[name], seed)
    fit = as_one(points, cluster_scale=SCALE)
    assert fit.mixture.n_clusters == len(NEIGHBOURS[name])
    assert ari(labels, fit.responsibilities.argmax(0)) > 0.95


def test_only_the_component_that_stands_for_two_is_split(blobs):
    points, labels = truth(blobs)
    pair, _ = around([[10.0, 0.0], [11.5, 0.0]], 0)
    points, labels = np.concatenate([points, pair]), np.append(labels, [3] * 200)
    mixture = consolidate(points, labels, 4, cluster_scale=SCALE).mixture
    assert sizes(mixture, 500) == pytest.approx([50, 100, 100, 100, 150], abs=2)


def test_a_third_cluster_needs_a_second_round():
    points, _ = around(NEIGHBOURS["three in a row"], 0)
    whole = as_one(points)
    none, one, two = (n_after_splits(points, whole, rounds=n) for n in range(3))
    assert (none, one) == (1, 2)
    assert two > 2


@pytest.mark.parametrize("name", NEIGHBOURS)
@pytest.mark.parametrize("settings", [{}, {"change_k": False, "cluster_scale": SCALE}])
def test_nothing_is_split_without_a_scale_to_judge_by_or_leave_to_do_so(name, settings):
    points, _ = around(NEIGHBOURS[name], 0)
    assert as_one(points, **settings).mixture.n_clusters == 1


@pytest.mark.parametrize("seed", range(20))
def test_one_gaussian_is_not_split(seed):
    points, _ = around([[0.0, 0.0]], seed, size=200)
    assert as_one(points, cluster_scale=SCALE).mixture.n_clusters == 1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("grid", [0.6, 0.8])
def test_rounded_values_of_a_cluster_are_not_split(seed, grid, monkeypatch):
    points, _ = around([[0.0, 0.0]], seed, size=300)
    rounded = (points / grid).round() * grid
    whole = as_one(rounded)
    assert n_after_splits(rounded, whole) == 1
    # It is their width that says so: lines of equal values would pay.
    monkeypatch.setattr(evidence, "TOO_NARROW", 0.0)
    assert n_after_splits(rounded, whole) > 1


def test_a_few_stray_points_are_no_half(blobs):
    points, labels = truth(blobs)
    strays = [[4.0, 1.0], [4.2, 1.4], [3.7, 1.1]]
    points, labels = np.vstack([points, strays]), np.append(labels, [1, 1, 1])
    whole = consolidate(points, labels, 3)
    assert n_after_splits(points, whole) == 3


def first_fit(points: Points, labels: Labels, n_clusters: int) -> Fit:
    members = (labels == np.arange(n_clusters)[:, None]).astype(np.float64)
    return explained(points, estimate(points.T, members))


def in_pieces(seed: int) -> tuple[Points, Labels, int]:
    """Clusters near and far, each given in two pieces: points, labels, how many pieces."""
    random = np.random.default_rng(seed)
    k, size = int(random.integers(1, 6)), int(random.integers(6, 40))
    spread = (0.5, 1.0, 3.0)[seed % 3]
    means = spread * random.normal(size=(k, 2))
    points, labels = around(means.tolist(), seed, size)
    half = random.integers(2, size=len(labels))
    if seed % 2:
        half = points[:, 0] > means[labels, 0]
    return points, labels + k * half, 2 * k


def test_the_result_is_settled():
    points, labels = around([[0.0, 0.0], [1.25, 0.0]], 0)
    wrong = np.where(np.arange(len(labels)) % 5 == 0, 1 - labels, labels)
    fit = consolidate(points, wrong, 2)
    assert fit.mixture.n_clusters == 2
    further = improve(points.T, fit, 1)
    assert further.total - fit.total < 1e-5 * len(points)
    rough = improve(points.T, first_fit(points, wrong, 2), 2)
    assert fit.total > rough.total + 1


def walked_to_the_end(points: Points, labels: Labels, n_clusters: int) -> list[Fit]:
    """All mixtures of the path, and as the last of the list the best of them, settled."""
    path = [improve(points.T, first_fit(points, labels, n_clusters), 2)]
    while path[-1].mixture.n_clusters > 1:
        removal = cheapest_removal(points.T, path[-1])
        path.append(improve(points.T, explained(points, removal.mixture), 2))
    score = [
        log_likelihood(points, fit.mixture) - complexity(fit.mixture, len(points)) for fit in path
    ]
    return [*path, settle(points.T, path[int(np.argmax(score))])]


def test_an_early_end_of_the_path_changes_nothing(monkeypatch):
    removals = []

    def counted(columns: Points, fit: Fit):
        removals.append(fit)
        return cheapest_removal(columns, fit)

    monkeypatch.setattr(module, "cheapest_removal", counted)
    steps = 0
    for seed in range(40):
        points, labels, k = in_pieces(seed)
        *path, best = walked_to_the_end(points, labels, k)
        steps += len(path) - 1
        assert_same(consolidate(points, labels, k).mixture, best.mixture)
    assert len(removals) < steps  # and it does end early


@pytest.mark.parametrize("k", range(1, 9))
def test_a_number_of_components_is_obeyed(blobs, k):
    points, labels = truth(blobs)
    fit = consolidate(points, labels, 3, cluster_scale=SCALE, at_least=k, at_most=k)
    assert fit.mixture.n_clusters == k
    assert fit.total == pytest.approx(log_likelihood(points, fit.mixture))


@pytest.mark.parametrize(
    ("low", "high", "k"), [(1, 2, 2), (2, 6, 3), (5, 9, 5), (1, 3, 3), (3, 3, 3)]
)
def test_the_best_of_a_range_is_kept(blobs, low, high, k):
    points, labels = truth(blobs)
    fit = consolidate(points, labels, 3, cluster_scale=SCALE, at_least=low, at_most=high)
    assert fit.mixture.n_clusters == k


def test_a_range_around_what_is_found_changes_nothing(blobs):
    points, labels = truth(blobs)
    free = consolidate(points, labels, 3, cluster_scale=SCALE)
    held = consolidate(points, labels, 3, cluster_scale=SCALE, at_least=1, at_most=8)
    for one, other in zip(free.mixture, held.mixture, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_forced_split_divides_what_is_two(blobs):
    points, labels = truth(blobs)
    merged = np.minimum(labels, 1)  # 1 and 2 are one
    members = (merged == np.arange(2)[:, None]).astype(float)
    fit = improve(points.T, explained(points, estimate(points.T, members)), 2)
    split = with_forced_splits(points.T, fit, 2, 3)
    assert ari(blobs.labels, split.responsibilities.argmax(0)) == 1


def test_a_half_may_be_split_again(blobs):
    points, _ = truth(blobs)
    whole = explained(points, estimate(points.T, np.ones((1, len(points)))))
    split = with_forced_splits(points.T, whole, 2, 3)
    assert ari(blobs.labels, split.responsibilities.argmax(0)) == 1
