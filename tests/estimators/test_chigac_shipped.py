"""The shipped CHiGac: sets like those of its training, and many more clusters than it has seen."""

import numpy as np
import pytest
import torch
from torch import Generator

import coterie
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.metrics import accuracy, ari

SHIPPED = "chigac-mog2d"
pytestmark = pytest.mark.skipif(
    SHIPPED not in [model.name for model in coterie.models()],
    reason="chigac-mog2d is not shipped yet: coterie train chigac-mog2d --device cuda",
)


def fit(points, **settings):
    return coterie.CHiGac(random_state=0, **settings).fit(points)


def on_a_grid(n_across, n_down, n_points=50, spacing=2.5):
    """Clusters that nobody can miss, in random order, and their labels."""
    draw = np.random.default_rng(0)
    centres = spacing * np.array([(i, j) for i in range(n_across) for j in range(n_down)], float)
    centres -= centres.mean(0)
    labels = draw.permutation(np.repeat(np.arange(len(centres)), n_points))
    return centres[labels] + draw.normal(0, 0.25, (len(labels), 2)), labels


def test_it_is_the_default():
    assert coterie.CHiGac().weights == SHIPPED


def test_fresh_sets_of_training_are_clustered():
    batch = MixtureOfGaussians(n_max=200, k_max=4).sample(40, Generator().manual_seed(2026))
    scores = [
        accuracy(labels[mask].numpy(), fit(points[mask].numpy()).labels_)
        for points, labels, mask in zip(batch.points, batch.labels, batch.mask, strict=True)
    ]
    assert np.mean(scores) > 0.95


@pytest.mark.parametrize(("across", "down"), [(2, 2), (3, 2), (4, 3)])
def test_more_clusters_are_found_than_training_had(across, down):
    points, labels = on_a_grid(across, down)
    model = fit(points)
    assert model.n_clusters_ == across * down
    assert ari(labels, model.labels_) > 0.98


def test_joint_draws_agree_where_nothing_is_in_doubt():
    points, labels = on_a_grid(2, 2)
    draws = fit(points).sample_partitions(20, random_state=0)
    assert np.mean([ari(labels, draw) for draw in draws]) > 0.95


def test_draws_disagree_where_two_clusters_may_be_one():
    generator = Generator().manual_seed(3)
    points = 0.25 * torch.randn(80, 2, generator=generator)
    points[:40, 0] += 0.7
    draws = coterie.CHiGac().sample_partitions(points.numpy(), 40, random_state=0)
    assert len({len(np.unique(draw)) for draw in draws}) > 1


def test_the_true_partition_is_more_probable_than_a_wrong_one():
    points, labels = on_a_grid(2, 2)
    model = fit(points)
    right = model.bound_
    model.labels_ = np.where(labels == 3, 2, labels)  # two clusters as one
    assert model.bound_ < right - 10
