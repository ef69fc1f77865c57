import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm
from torch import Tensor

from coterie.functional.em import Gaussians, maximisation
from coterie.functional.partitions import one_hot
from coterie.inference import consolidate as module
from coterie.inference.consolidate import (
    PSEUDO_COUNT,
    cheapest_removal,
    complexity,
    consolidate,
    reestimate,
    settle,
    total_log_likelihood,
    with_splits,
)
from coterie.inference.rules import MixtureRule
from coterie.metrics import ari

SCALE = 0.25
NEIGHBOURS = {
    "two in a row": [[0.0, 0.0], [1.5, 0.0]],
    "two in a column": [[0.0, 0.0], [0.0, 1.5]],
    "three in a row": [[0.0, 0.0], [1.5, 0.0], [3.0, 0.0]],
    "three in a corner": [[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]],
}


def log_likelihood(points: Tensor, mixture: Gaussians) -> float:
    """Of all points under a mixture, in scipy's words."""
    density = norm.logpdf(points[:, None], mixture.mean, mixture.log_scale.exp()).sum(-1)
    return float(logsumexp(density + mixture.log_weight.numpy(), axis=1).sum())


def without(mixture: Gaussians, victim: int) -> Gaussians:
    kept = [j for j in range(len(mixture.log_weight)) if j != victim]
    weight = mixture.log_weight[kept].exp()
    return Gaussians((weight / weight.sum()).log(), mixture.mean[kept], mixture.log_scale[kept])


def with_merged(mixture: Gaussians, pair: tuple[int, int]) -> Gaussians:
    """Two components replaced by one with the mean and the variance of what both describe."""
    kept = [j for j in range(len(mixture.log_weight)) if j not in pair]
    pair = list(pair)
    weight = mixture.log_weight[pair].exp()
    share = (weight / weight.sum())[:, None]
    mean = (share * mixture.mean[pair]).sum(0)
    second_moment = (2 * mixture.log_scale[pair]).exp() + mixture.mean[pair] ** 2
    variance = (share * second_moment).sum(0) - mean**2
    return Gaussians(
        torch.cat([mixture.log_weight[kept], weight.sum().log()[None]]),
        torch.cat([mixture.mean[kept], mean[None]]),
        torch.cat([mixture.log_scale[kept], 0.5 * variance.log()[None]]),
    )


def overlapping(seed: int, n_clusters: int = 4) -> tuple[Tensor, Gaussians]:
    """A mixture whose components share their points, and points drawn at random."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    mixture = Gaussians(
        normal(n_clusters).log_softmax(0), normal(n_clusters, 2), 0.2 * normal(n_clusters, 2)
    )
    return normal(40, 2), mixture


def truth(blobs) -> tuple[Tensor, Tensor]:
    return torch.tensor(blobs.points), torch.tensor(blobs.labels)


@pytest.mark.parametrize("seed", range(8))
def test_cheapest_removal_is_the_least_of_all_drops_and_merges(seed):
    points, mixture = overlapping(seed)
    before = log_likelihood(points, mixture)
    drops = [before - log_likelihood(points, without(mixture, j)) for j in range(4)]
    merges = [
        before - log_likelihood(points, with_merged(mixture, pair))
        for pair in itertools.combinations(range(4), 2)
    ]
    assert cheapest_removal(points, mixture).cost == pytest.approx(min(drops + merges), abs=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_cost_of_a_removal_is_what_the_log_likelihood_loses(seed):
    points, mixture = overlapping(seed)
    removal = cheapest_removal(points, mixture)
    lost = log_likelihood(points, mixture) - log_likelihood(points, removal.mixture)
    assert len(removal.mixture.log_weight) == 3
    assert removal.cost == pytest.approx(lost, abs=1e-8)


def two_groups(weight: list[float], mean: list[list[float]]) -> tuple[Tensor, Gaussians]:
    """Standard normal points around (0, 0) and (6, 0), and a mixture of unit Gaussians."""
    points, _ = overlapping(0)
    points[:20, 0] += 6
    log_weight = torch.tensor(weight, dtype=torch.float64).log()
    means = torch.tensor(mean, dtype=torch.float64)
    return points, Gaussians(log_weight, means, torch.zeros_like(means))


def test_a_component_that_describes_nothing_is_dropped():
    points, mixture = two_groups([0.4, 0.2, 0.4], [[0, 0], [30, 30], [6, 0]])
    removal = cheapest_removal(points, mixture)
    assert removal.cost == pytest.approx(40 * math.log(0.8))  # a gain: the others get its weight
    assert removal.mixture.mean.tolist() == [[0, 0], [6, 0]]
    assert removal.mixture.log_weight.exp().tolist() == pytest.approx([0.5, 0.5])


def test_two_halves_of_a_cluster_are_merged():
    points, mixture = two_groups([0.25, 0.5, 0.25], [[0, 0], [6, 0], [0, 0]])
    removal = cheapest_removal(points, mixture)
    assert removal.cost == pytest.approx(0, abs=1e-8)
    assert removal.mixture.mean.tolist() == [[6, 0], [0, 0]]
    assert removal.mixture.log_weight.exp().tolist() == pytest.approx([0.5, 0.5])


def test_a_parameter_costs_half_a_log_of_the_points_behind_it():
    _, mixture = overlapping(1, n_clusters=2)
    mixture = mixture._replace(log_weight=torch.tensor([0.25, 0.75], dtype=torch.float64).log())
    means_and_variances = 4 * 0.5 * (math.log(25) + math.log(75))
    weights = 2 * 0.5 * math.log(100)
    assert complexity(mixture, 100) == pytest.approx(means_and_variances + weights)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_truth_split_in_two_is_put_together_again(blobs, axis):
    points, labels = truth(blobs)
    centre = torch.stack([points[labels == j].mean(0) for j in range(3)])
    half = (points[:, axis] > centre[labels, axis]).long()
    mixture = consolidate(points, labels + 3 * half, 6)
    found = MixtureRule(mixture).log_probabilities(points).argmax(1)
    assert len(mixture.log_weight) == 3
    assert ari(blobs.labels, found) == 1


@pytest.mark.parametrize("size", [2, 5, 50])
def test_a_real_cluster_is_never_taken_back(blobs, size):
    points, labels = truth(blobs)
    kept = (labels < 2) | ((labels == 2).cumsum(0) <= size)
    mixture = consolidate(points[kept], labels[kept], 3)
    assert len(mixture.log_weight) == 3
    assert sorted((mixture.log_weight.exp() * kept.sum()).round().int().tolist()) == [
        size,
        100,
        150,
    ]


def test_without_removal_every_cluster_stays(blobs):
    points, labels = truth(blobs)
    mixture = consolidate(points, labels + 3 * (points[:, 0] > 0), 6, change_k=False)
    assert len(mixture.log_weight) == 6


def test_em_makes_the_partition_likelier(blobs):
    points, labels = truth(blobs)
    wrong = torch.where(torch.arange(len(labels)) % 7 == 0, (labels + 1) % 3, labels)
    first, later = (consolidate(points, wrong, 3, em_steps=n, change_k=False) for n in (0, 5))
    assert log_likelihood(points, later) > log_likelihood(points, first) + 10


def test_points_without_a_cluster_count_once_there_are_clusters(blobs):
    points, labels = truth(blobs)
    some_left_over = torch.where(torch.arange(len(labels)) % 5 == 0, -1, labels)
    mixture = consolidate(points, some_left_over, 3)
    assert sorted((mixture.log_weight.exp() * 300).round().int().tolist()) == [50, 100, 150]


def test_a_cluster_of_one_point_does_not_collapse(blobs):
    points, labels = truth(blobs)
    points, labels = (
        torch.cat([points, points.new_tensor([[0.0, -9.0]])]),
        torch.cat([labels, labels.new_tensor([3])]),
    )
    mixture = consolidate(points, labels, 4)
    lonely = mixture.mean[:, 1].argmin()
    assert len(mixture.log_weight) == 4
    assert (mixture.log_scale[lonely].exp() > 0.1).all()


def test_a_cluster_for_every_point_is_far_too_many():
    points = torch.tensor(np.random.default_rng(0).normal(size=(12, 2)))
    mixture = consolidate(points, torch.arange(12), 12)
    assert all(torch.isfinite(part).all() for part in mixture)


def test_one_point_and_equal_points_are_one_cluster():
    for points in (torch.zeros(1, 2), torch.ones(9, 2)):
        mixture = consolidate(points, torch.zeros(len(points), dtype=torch.long), 1)
        assert mixture.mean.tolist() == points[:1].tolist()
        assert torch.isfinite(mixture.log_scale).all()


def test_equal_points_in_two_clusters_become_one():
    mixture = consolidate(torch.ones(8, 2), torch.arange(8) % 2, 2)
    assert len(mixture.log_weight) == 1


def test_input_is_left_alone(blobs):
    points, labels = truth(blobs)
    before = points.clone(), labels.clone()
    consolidate(points, labels, 3)
    assert torch.equal(points, before[0])
    assert torch.equal(labels, before[1])


def test_pairs_are_compared_in_blocks_of_any_size(monkeypatch):
    points, mixture = overlapping(0, n_clusters=6)
    whole = cheapest_removal(points, mixture)
    monkeypatch.setattr("coterie.inference.consolidate.PAIRS_AT_A_TIME", 4)
    parts = cheapest_removal(points, mixture)
    assert parts.cost == pytest.approx(whole.cost)
    torch.testing.assert_close(parts.mixture, whole.mixture)


def test_a_cluster_in_many_pieces_comes_back_together():
    # No single removal pays here, all together do.
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(400, 2, generator=generator, dtype=torch.float64)
    pieces = (points[:, 0] > 0).long() + 2 * (points[:, 1] > 0) + 4 * (points.norm(dim=1) > 1.2)
    assert len(consolidate(points, pieces, 8).log_weight) == 1


def around(means: list[list[float]], seed: int, size: int = 100) -> tuple[Tensor, Tensor]:
    """Round clusters of SCALE, and who belongs where."""
    labels = torch.arange(len(means)).repeat_interleave(size)
    noise = torch.randn(
        len(labels), 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    return torch.tensor(means, dtype=torch.float64)[labels] + SCALE * noise, labels


def one_cluster(points: Tensor) -> Tensor:
    return torch.zeros(len(points), dtype=torch.long)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_merged_neighbours_are_split(name, seed):
    points, labels = around(NEIGHBOURS[name], seed)
    mixture = consolidate(points, one_cluster(points), 1, cluster_scale=SCALE)
    assert len(mixture.log_weight) == len(NEIGHBOURS[name])
    assert ari(labels, MixtureRule(mixture).log_probabilities(points).argmax(1)) > 0.95


def test_only_the_component_that_stands_for_two_is_split(blobs):
    points, labels = truth(blobs)
    pair, _ = around([[10.0, 0.0], [11.5, 0.0]], 0)
    points, labels = torch.cat([points, pair]), torch.cat([labels, torch.full((200,), 3)])
    mixture = consolidate(points, labels, 4, cluster_scale=SCALE)
    sizes = sorted((mixture.log_weight.exp() * 500).round().int().tolist())
    assert sizes == pytest.approx([50, 100, 100, 100, 150], abs=2)


def test_a_third_cluster_needs_a_second_round():
    points, _ = around(NEIGHBOURS["three in a row"], 0)
    whole = consolidate(points, one_cluster(points), 1)
    found = [len(with_splits(points, whole, 2, SCALE, rounds=n).log_weight) for n in range(3)]
    assert found == [1, 2, 3]


@pytest.mark.parametrize("name", NEIGHBOURS)
@pytest.mark.parametrize("settings", [{}, {"change_k": False, "cluster_scale": SCALE}])
def test_nothing_is_split_without_a_scale_to_judge_by_or_leave_to_do_so(name, settings):
    points, _ = around(NEIGHBOURS[name], 0)
    assert len(consolidate(points, one_cluster(points), 1, **settings).log_weight) == 1


@pytest.mark.parametrize("seed", range(20))
def test_one_gaussian_is_not_split(seed):
    points, _ = around([[0.0, 0.0]], seed, size=200)
    assert len(consolidate(points, one_cluster(points), 1, cluster_scale=SCALE).log_weight) == 1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("grid", [0.6, 0.8])
def test_rounded_values_of_a_cluster_are_not_split(seed, grid):
    points, _ = around([[0.0, 0.0]], seed, size=300)
    rounded = (points / grid).round() * grid
    whole = consolidate(rounded, one_cluster(points), 1)
    assert len(with_splits(rounded, whole, 2, SCALE).log_weight) == 1
    # It is the scale that says so: lines of equal values would pay.
    assert len(with_splits(rounded, whole, 2, 1e-6).log_weight) > 1


def test_a_few_stray_points_are_no_half(blobs):
    points, labels = truth(blobs)
    strays = torch.tensor([[4.0, 1.0], [4.2, 1.4], [3.7, 1.1]], dtype=torch.float64)
    points, labels = torch.cat([points, strays]), torch.cat([labels, torch.ones(3).long()])
    whole = consolidate(points, labels, 3)
    assert len(with_splits(points, whole, 2, SCALE).log_weight) == 3


def first_mixture(points: Tensor, labels: Tensor, n_clusters: int) -> Gaussians:
    memberships = one_hot(labels, n_clusters).to(points)
    return maximisation(points, memberships, pseudo_count=PSEUDO_COUNT)


def in_pieces(seed: int) -> tuple[Tensor, Tensor, int]:
    """Clusters near and far, each given in two pieces: points, labels, how many pieces."""
    generator = torch.Generator().manual_seed(seed)
    k, size = (int(torch.randint(*limits, (), generator=generator)) for limits in ((1, 6), (6, 40)))
    spread = (0.5, 1.0, 3.0)[seed % 3]
    means = spread * torch.randn(k, 2, generator=generator)
    points, labels = around(means.tolist(), seed, size)
    half = torch.randint(2, labels.shape, generator=generator)
    if seed % 2:
        half = (points[:, 0] > means[labels, 0]).long()
    return points, labels + k * half, 2 * k


@given(seed=st.integers(0, 2**31), n_clusters=st.integers(1, 6), limit=st.integers(1, 60))
@settings(max_examples=30)
def test_settling_is_em_until_nothing_is_gained(seed, n_clusters, limit):
    points, mixture = overlapping(seed, n_clusters)
    mixture = reestimate(points, mixture, 2)
    path = [mixture]
    for _ in range(limit):
        path.append(reestimate(points, path[-1], 1))
    likelihoods = [log_likelihood(points, each) / len(points) for each in path]
    stop = next((n for n in range(1, limit) if likelihoods[n] - likelihoods[n - 1] < 1e-5), limit)
    torch.testing.assert_close(settle(points, mixture, limit=limit), path[stop])


@pytest.mark.parametrize("seed", range(10))
def test_settling_makes_a_rough_partition_likelier(seed):
    points, labels = around(NEIGHBOURS["three in a corner"], seed)
    generator = torch.Generator().manual_seed(seed)
    anywhere = torch.randint(3, labels.shape, generator=generator)
    rough = torch.where(torch.rand(labels.shape, generator=generator) < 0.2, anywhere, labels)
    mixture = first_mixture(points, rough, 3)
    settled = settle(points, mixture)
    assert log_likelihood(points, settled) > log_likelihood(points, mixture)
    exact = settle(points, mixture, tolerance=0, limit=200)
    assert log_likelihood(points, settled) == pytest.approx(log_likelihood(points, exact), abs=0.1)


def test_what_is_settled_stays_where_it_is(blobs):
    points, labels = truth(blobs)
    settled = settle(points, first_mixture(points, labels, 3))
    again = settle(points, settled)
    assert log_likelihood(points, again) == pytest.approx(log_likelihood(points, settled))
    torch.testing.assert_close(again.mean, settled.mean, rtol=0, atol=1e-3)


def test_the_result_is_settled():
    points, labels = around([[0.0, 0.0], [1.25, 0.0]], 0)
    wrong = torch.where(torch.arange(len(labels)) % 5 == 0, 1 - labels, labels)
    mixture = consolidate(points, wrong, 2)
    assert len(mixture.log_weight) == 2
    further = reestimate(points, mixture, 1)
    assert log_likelihood(points, further) - log_likelihood(points, mixture) < 1e-5 * len(points)
    rough = reestimate(points, first_mixture(points, wrong, 2), 2)
    assert log_likelihood(points, mixture) > log_likelihood(points, rough) + 1


def test_total_log_likelihood_is_that_of_all_points():
    points, mixture = overlapping(0)
    assert total_log_likelihood(points, mixture) == pytest.approx(log_likelihood(points, mixture))


def walked_to_the_end(points: Tensor, labels: Tensor, n_clusters: int) -> list[Gaussians]:
    """All mixtures of the path, and as the last of the list the best of them, settled."""
    path = [reestimate(points, first_mixture(points, labels, n_clusters), 2)]
    while len(path[-1].log_weight) > 1:
        path.append(reestimate(points, cheapest_removal(points, path[-1]).mixture, 2))
    score = [log_likelihood(points, each) - complexity(each, len(points)) for each in path]
    return [*path, settle(points, path[int(np.argmax(score))])]


def test_an_early_end_of_the_path_changes_nothing(monkeypatch):
    removals = []

    def counted(points: Tensor, mixture: Gaussians):
        removals.append(mixture)
        return cheapest_removal(points, mixture)

    monkeypatch.setattr(module, "cheapest_removal", counted)
    steps = 0
    for seed in range(40):
        points, labels, k = in_pieces(seed)
        *path, best = walked_to_the_end(points, labels, k)
        steps += len(path) - 1
        torch.testing.assert_close(consolidate(points, labels, k), best)
    assert len(removals) < steps  # and it does end early
