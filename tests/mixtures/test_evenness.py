"""Clusters that are spread evenly, and those that are not."""

import math

import numpy as np
import pytest

from coterie.mixtures.evenness import gain_of_evenness

N = 4_000
WHOLE = np.zeros(N, dtype=int)
HALVES = np.arange(N) % 2


def spread(along, seed=0):
    """Points (n, 2), turned, of which the first column is given."""
    across = 0.1 * np.random.default_rng(seed).normal(size=len(along))
    turn = np.array([[0.8, 0.6], [-0.6, 0.8]])
    return np.column_stack([along, across]) @ turn


def test_the_gain_of_a_bar_is_the_difference_in_entropy():
    points = spread(np.random.default_rng(1).uniform(0, 10, N))
    gain = gain_of_evenness(points, WHOLE, HALVES)
    assert gain / N == pytest.approx(0.5 * math.log(2 * math.pi * math.e / 12), abs=0.01)


def test_gaussians_gain_nothing():
    rng = np.random.default_rng(2)
    assert gain_of_evenness(spread(5 * rng.normal(size=N)), WHOLE, HALVES) == 0
    pair = spread(rng.normal(size=N) + 4 * HALVES)
    assert gain_of_evenness(pair, WHOLE, HALVES) == 0


def test_only_clusters_that_are_divided_count():
    rng = np.random.default_rng(3)
    bar = spread(rng.uniform(0, 10, N))
    both = np.vstack([bar, bar + 20])
    clusters = np.repeat([0, 1], N)
    divided = gain_of_evenness(both, clusters, np.r_[HALVES, WHOLE + 2])
    assert divided == pytest.approx(gain_of_evenness(bar, WHOLE, HALVES))
    assert gain_of_evenness(both, clusters, clusters) == 0


@pytest.mark.parametrize("points", [np.zeros((6, 2)), np.arange(12.0).reshape(6, 2)[:2]])
def test_hardly_any_points_gain_nothing(points):
    clusters = np.zeros(len(points), dtype=int)
    assert gain_of_evenness(points, clusters, np.arange(len(points))) == 0
    assert gain_of_evenness(points, clusters - 1, np.arange(len(points))) == 0
