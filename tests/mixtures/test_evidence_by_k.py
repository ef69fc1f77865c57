import math

import numpy as np
import pytest
from torch import Generator

from coterie.data.priors.mog import MixtureOfGaussians
from coterie.mixtures.consolidate import Range
from coterie.mixtures.em import Mixture, estimate
from coterie.mixtures.evidence import trained_prior
from coterie.mixtures.evidence_by_k import evidence_by_k

SCALE = 0.25
FREE = Range(1, math.inf)


def columns_of(points):
    return np.ascontiguousarray(points.T, dtype=np.float64)


def mixture_of(columns, labels):
    return estimate(columns, (labels == np.unique(labels)[:, None]).astype(float))


def evidence_of(points, labels, sizes=FREE):
    columns = columns_of(points)
    prior = trained_prior(columns, SCALE)
    return evidence_by_k(columns, mixture_of(columns, labels), prior, sizes)


def beliefs(evidence):
    weight = {k: math.exp(value - max(evidence.values())) for k, value in evidence.items()}
    return {k: value / sum(weight.values()) for k, value in weight.items()}


def two_blobs(distance, n_points=200):
    labels = np.repeat([0, 1], n_points // 2)
    points = np.random.default_rng(0).normal(scale=SCALE, size=(n_points, 2))
    return points + np.outer(labels, [distance, 0.0]), labels


def test_clusters_that_stand_apart_are_certain(blobs):
    belief = beliefs(evidence_of(blobs.points, blobs.labels))
    assert belief[3] > 0.95
    assert belief[2] < 1e-10
    assert belief[4] > 1e-6


def test_it_is_uncertain_just_where_two_clusters_become_one():
    chance = [beliefs(evidence_of(*two_blobs(apart))).get(2, 0.0) for apart in (0.0, 0.55, 1.5)]
    assert chance[0] < 0.2
    assert 0.05 < chance[1] < 0.995
    assert chance[2] > 0.95
    assert chance == sorted(chance)


@pytest.mark.parametrize("start", [1, 2, 4])
def test_the_best_number_is_found_from_its_neighbours(start):
    # Two clear clusters, begun as one, as two, and as four parts.
    points, labels = two_blobs(2.0)
    parts = {1: np.zeros_like(labels), 2: labels, 4: 2 * labels + (points[:, 1] > 0)}[start]
    belief = beliefs(evidence_of(points, parts))
    assert max(belief, key=lambda k: belief[k]) == 2


@pytest.mark.parametrize("sizes", [Range(3, 3), Range(2, 3), Range(3, 5)])
def test_only_numbers_in_range_are_weighed(blobs, sizes):
    numbers = sorted(evidence_of(blobs.points, blobs.labels, sizes))
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert sizes.at_least <= numbers[0] <= 3 <= numbers[-1] <= sizes.at_most


def test_a_mixture_that_has_no_evidence_has_no_neighbours_either(blobs):
    columns = columns_of(blobs.points)
    broken = Mixture(np.zeros(1), np.full((1, 2), np.nan), np.zeros((1, 2)))
    with np.errstate(invalid="ignore"):
        assert evidence_by_k(columns, broken, trained_prior(columns, SCALE), FREE) == {}


def test_what_is_believed_comes_true_as_often():
    # From the true labels of sets in which clusters overlap: some numbers are beyond recovery.
    prior = MixtureOfGaussians(n_max=300, k_max=8)
    batch = prior.sample(60, Generator().manual_seed(3))
    believed, right, surprise = [], [], []
    for points, labels, mask in zip(batch.points, batch.labels, batch.mask, strict=True):
        truth = labels[mask].numpy()
        belief = beliefs(evidence_of(points[mask].numpy(), truth))
        k = len(np.unique(truth))
        best = max(belief, key=lambda number: belief[number])
        believed.append(belief[best])
        right.append(best == k)
        surprise.append(-math.log(belief[k]))
    assert np.mean(right) == pytest.approx(np.mean(believed), abs=0.15)
    assert np.mean(surprise) < 0.7
