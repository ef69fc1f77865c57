import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from coterie.inference.assignment import (
    Assignment,
    apply,
    apply_labels,
    cluster_sizes,
    keep_clusters,
    occupied_by_size,
)


class Halves:
    """Two clusters, left and right; who is higher than one, neither wants."""

    device = torch.device("cpu")
    n_clusters = 2

    def log_probabilities(self, points: Tensor) -> Tensor:
        return torch.stack([-points[:, 0], points[:, 0]], 1).double().log_softmax(1)

    def unwanted(self, points: Tensor) -> Tensor:
        return points[:, 1] > 1


POINTS = np.array([[-2.0, 0.0], [3.0, 0.0], [1.0, 2.0], [-1.0, 5.0], [0.5, 0.5]], dtype=np.float32)


@pytest.mark.parametrize("chunk_size", [1, 2, 5, 100])
def test_a_point_has_its_most_probable_cluster(chunk_size):
    found = apply(Halves(), POINTS, chunk_size)
    assert found.labels.tolist() == [0, 1, 1, 0, 1]
    assert apply_labels(Halves(), POINTS, chunk_size).tolist() == [0, 1, 1, 0, 1]
    right = 1 / (1 + np.exp(-2.0 * POINTS[:, 0].astype(np.float64)))
    np.testing.assert_allclose(found.probabilities, np.stack([1 - right, right], 1), rtol=1e-6)


@pytest.mark.parametrize("chunk_size", [1, 2, 5, 100])
def test_noise_has_no_label_but_probabilities(chunk_size):
    found = apply(Halves(), POINTS, chunk_size, noise=True)
    assert found.labels.tolist() == [0, 1, -1, -1, 1]
    assert apply_labels(Halves(), POINTS, chunk_size, noise=True).tolist() == [0, 1, -1, -1, 1]
    assert (found.probabilities == apply(Halves(), POINTS).probabilities).all()


@pytest.mark.parametrize("label", [apply, apply_labels])
@pytest.mark.parametrize("chunk_size", [1, 100])
def test_memberships_that_are_no_numbers_are_refused(label, chunk_size):
    overflowed = POINTS.copy()
    overflowed[3, 0] = np.nan
    with pytest.raises(ValueError, match="not finite: its weights are damaged"):
        label(Halves(), overflowed, chunk_size, noise=True)


def test_noise_is_in_no_cluster():
    assert cluster_sizes(np.array([2, -1, 0, 2, -1]), 4).tolist() == [1, 0, 2, 0]
    found = Assignment(np.array([-1, -1, -1, 1, 2, 2]), np.full((6, 3), 1 / 3))
    assert occupied_by_size(found).tolist() == [2, 1]


def test_noise_stays_noise_when_clusters_are_kept():
    found = Assignment(np.array([-1, 2, 0, 2]), np.full((4, 3), 1 / 3))
    kept = keep_clusters(found, np.array([2, 0]), 3)
    assert kept.labels.tolist() == [-1, 0, 1, 0]
    assert kept.probabilities.tolist() == [[0.5, 0.5]] * 4


def test_occupied_clusters_come_largest_first():
    found = Assignment(np.array([3, 3, 1, 0, 3, 1]), np.zeros((6, 5)))
    assert occupied_by_size(found).tolist() == [3, 1, 0]


def test_the_earlier_found_comes_first_among_equals():
    labels = np.array([4, 2, 2, 4, 1])
    assert occupied_by_size(Assignment(labels, np.zeros((5, 6)))).tolist() == [2, 4, 1]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 50))
def test_clusters_that_are_kept_are_the_same_partition(labels, chunk_size):
    labels = np.array(labels)
    probabilities = np.random.default_rng(0).uniform(size=(len(labels), 7))
    found = Assignment(labels.copy(), probabilities.copy())
    order = occupied_by_size(found)
    kept = keep_clusters(found, order, chunk_size)
    assert (order[kept.labels] == labels).all()
    sizes = np.bincount(kept.labels)
    assert len(sizes) == kept.probabilities.shape[1]
    assert (sizes > 0).all()
    assert (np.diff(sizes) <= 0).all()
    part = probabilities[:, order]
    np.testing.assert_allclose(kept.probabilities, part / part.sum(1, keepdims=True), rtol=1e-12)


def test_keeping_all_clusters_takes_no_more_memory():
    found = Assignment(np.array([1, 1, 0]), np.full((3, 2), 0.5))
    kept = keep_clusters(found, np.array([1, 0]), 2)
    assert kept.labels is found.labels
    assert kept.probabilities is found.probabilities
