"""The rule of a partition: its own labels on the context, its neighbours' elsewhere."""

import numpy as np
import torch

from coterie.inference.rules.partition import PartitionRule


def two_squares(n=60):
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 2
    points = rng.uniform(size=(n, 2)) + 1.5 * labels[:, None]
    return points.astype(np.float32), labels


def test_points_of_the_context_keep_their_clusters():
    points, labels = two_squares()
    rng = np.random.default_rng(1)
    for own in (labels, rng.integers(0, 5, len(points))):  # whatever the clusters are
        rule = PartitionRule.of(own, points)
        answer = rule.log_probabilities(torch.from_numpy(points))
        np.testing.assert_array_equal(answer.argmax(1), own)
        np.testing.assert_allclose(answer.exp().sum(1), 1)


def test_other_points_have_the_cluster_of_the_nearest():
    points, labels = two_squares()
    rule = PartitionRule.of(labels, points)
    others = torch.tensor([[0.4, 0.6], [2.0, 2.1]])
    assert rule.log_probabilities(others).argmax(1).tolist() == [0, 1]
    assert not rule.unwanted(others).any()


def test_points_among_foreign_neighbours_are_less_sure():
    points, labels = two_squares()
    stray = labels.copy()
    stray[0] = 1  # a point of the other square
    sure = PartitionRule.of(stray, points).log_probabilities(torch.from_numpy(points)).exp()
    assert sure[0].max() < 0.6
    assert sure[2].max() > 0.9


def test_selected_clusters_are_renumbered_and_sum_to_one():
    points, _ = two_squares()
    labels = np.arange(len(points)) % 3
    rule = PartitionRule.of(labels, points).select(torch.tensor([2, 0]))
    answer = rule.log_probabilities(torch.from_numpy(points))
    assert rule.n_clusters == 2
    np.testing.assert_allclose(answer.exp().sum(1), 1)
    assert (answer.argmax(1).numpy()[labels == 2] == 0).all()


def test_a_single_point_is_its_own_cluster():
    rule = PartitionRule.of(np.array([0]), np.zeros((1, 2), dtype=np.float32))
    assert rule.log_probabilities(torch.ones(3, 2)).exp().tolist() == [[1.0]] * 3
