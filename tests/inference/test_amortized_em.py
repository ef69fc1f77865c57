"""EM whose M-step is a network; here the network is the estimate of a Gaussian."""

from typing import Any, cast

import numpy as np
import pytest
import torch

from coterie.data.batch import SetBatch
from coterie.densities.gaussian import DiagonalGaussian
from coterie.inference.amortized_em import em_by_network
from coterie.systems.protocol import Commit, State, everything_remains


class Moments:
    """The cluster of a set is all of it, with its mean and deviation."""

    def start(self, batch: SetBatch) -> State:
        return everything_remains(batch)

    def step(self, state: State, generator: Any = None) -> Commit:
        points = state.batch.points
        mean, scale = points.mean(1), points.std(1, correction=0) + 0.05
        density = DiagonalGaussian(mean, scale.log())
        return Commit(state.remaining, state.remaining.float(), (mean,), density=density)


SYSTEM = cast(Any, Moments())


@pytest.fixture(scope="module")
def blobs():
    generator = torch.Generator().manual_seed(0)
    centres = torch.tensor([[-4.0, 0.0], [4.0, 0.0], [0.0, 5.0]])
    labels = torch.arange(3).repeat_interleave(100)
    return centres[labels] + 0.5 * torch.randn(300, 2, generator=generator), labels


def test_scraps_of_a_cluster_go_back_to_it(blobs):
    points, truth = blobs
    labels = truth.clone()
    labels[:4], labels[4:9] = 3, 4
    found = em_by_network(SYSTEM, points, labels, change_k=True)
    assert len(found.commits) == 3
    means = torch.cat([commit.memory[0] for commit in found.commits])
    torch.testing.assert_close(means, torch.stack([points[truth == j].mean(0) for j in range(3)]))
    np.testing.assert_allclose(found.log_weight.exp(), [1 / 3] * 3, atol=1e-3)


def test_all_clusters_stay_where_k_is_not_to_change(blobs):
    points, truth = blobs
    labels = torch.where(torch.arange(300) < 50, 3, truth)
    assert len(em_by_network(SYSTEM, points, labels, change_k=False).commits) == 4
    assert len(em_by_network(SYSTEM, points, labels, change_k=True).commits) == 3
    assert len(em_by_network(SYSTEM, points, labels, change_k=True, at_most=2).commits) == 2


def test_rounds_mend_labels_and_the_likelihood_is_that_of_the_mixture(blobs):
    points, truth = blobs
    wrong = truth.clone()
    wrong[80:100] = 1  # a fifth of one cluster counted with another
    found = em_by_network(SYSTEM, points, wrong, change_k=True)
    densities = [cast(Any, commit.density).log_prob(points[None])[0] for commit in found.commits]
    joint = torch.stack(densities, 1) + found.log_weight
    assert torch.equal(joint.argmax(1), truth)
    assert found.log_likelihood == pytest.approx(float(joint.logsumexp(1).sum()))


def test_points_without_a_cluster_and_single_points_are_no_hindrance(blobs):
    points, truth = blobs
    labels = truth.clone()
    labels[0], labels[1] = -1, 3
    assert len(em_by_network(SYSTEM, points, labels, change_k=True).commits) == 3
    alone = em_by_network(SYSTEM, points[:1], torch.zeros(1, dtype=torch.int64), change_k=True)
    assert len(alone.commits) == 1


def test_two_halves_of_a_cluster_become_one(blobs):
    points, truth = blobs
    halves = torch.where((truth == 0) & (points[:, 1] > 0), 3, truth)
    found = em_by_network(SYSTEM, points, halves, change_k=True)
    assert torch.equal(
        found.log_joint.argmax(1).unique(return_counts=True)[1], torch.full((3,), 100)
    )
    assert len(em_by_network(SYSTEM, points, halves, change_k=True, at_least=4).commits) == 4
