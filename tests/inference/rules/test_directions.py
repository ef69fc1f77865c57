import numpy as np
import torch
from torch.nn.functional import normalize

from coterie.functional.spherical import spherical_step
from coterie.inference.rules.directions import DirectionRule


def bundles(n=20, seed=0):
    """Three bundles of directions in six dimensions, of any length; and which is which."""
    draw = np.random.default_rng(seed)
    truth = np.repeat(np.arange(3), n)
    vectors = np.eye(6)[truth] + draw.normal(0, 0.15, (3 * n, 6))
    return torch.from_numpy(vectors * draw.uniform(1, 9, (3 * n, 1))), torch.from_numpy(truth)


def test_points_join_the_centre_of_the_largest_cosine():
    points, truth = bundles()
    rule = DirectionRule.of(points, truth, 3)
    assert torch.equal(rule.log_probabilities(points).argmax(1), truth)
    assert torch.allclose(rule.log_probabilities(points).exp().sum(1), torch.ones(60).double())
    assert torch.allclose(
        rule.log_probabilities(points), rule.log_probabilities(normalize(points, dim=1))
    )


def test_steps_of_spherical_k_means_mend_a_poor_start():
    points, truth = bundles()
    start = truth.clone()
    start[::4] = -1
    start[5], start[25] = 2, 0
    rule = DirectionRule.of(points, start, 3)
    assert torch.equal(rule.log_probabilities(points).argmax(1), truth)
    moved = spherical_step(normalize(points, dim=1), rule.centres).centres
    assert torch.allclose(moved, rule.centres)  # a fixed point


def test_clusters_that_lose_all_their_points_are_left_out():
    points, truth = bundles()
    start = truth.clone()
    start[0] = 3  # a cluster of its own, at the side of a bundle
    far = DirectionRule.of(points, start, 4)
    assert far.n_clusters in (3, 4)
    assert DirectionRule.of(points, torch.where(start == 3, 0, start), 4).n_clusters == 3


def test_selection_and_noise():
    points, truth = bundles()
    rule = DirectionRule.of(points, truth, 3).select(torch.tensor([2, 0]))
    assert rule.n_clusters == 2
    known = torch.isin(truth, torch.tensor([0, 2]))
    assert not rule.unwanted(points[known]).any()
    assert rule.unwanted(points[~known]).all()
