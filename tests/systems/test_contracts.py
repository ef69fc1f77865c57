"""The contracts of the systems to come, each proven by a small fake system."""

from dataclasses import replace

import fakes
import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from coterie.data.batch import SetBatch
from coterie.inference.config import InferenceConfig
from coterie.inference.constraints import Constraints
from coterie.inference.endings import Ending, choose_ending, framed
from coterie.inference.engine import cluster_points
from coterie.inference.loop import find_clusters, find_labels
from coterie.systems.protocol import Direct, Sequential, claimed_labels


@pytest.fixture
def four():
    """Four groups of ten points, five units apart, in random order; and their labels."""
    draw = np.random.default_rng(0)
    truth = draw.permutation(np.repeat(np.arange(4), 10))
    centres = np.array([(0, 0), (5, 0), (0, 5), (5, 5)])
    return (centres[truth] + draw.normal(0, 0.2, (40, 2))).astype(np.float32), truth


def random_state():
    return np.random.RandomState(0)


def test_the_fakes_keep_their_contracts():
    assert isinstance(fakes.Halves(), Direct)
    assert not isinstance(fakes.Halves(), Sequential)
    assert isinstance(fakes.PointByPoint(), Sequential)
    assert not isinstance(fakes.PointByPoint(), Direct)


def test_a_direct_system_answers_at_once(four):
    points, _ = four
    outcome = cluster_points(fakes.Halves(), points, InferenceConfig(), random_state())
    left = points[:, 0] < points[:, 0].mean()
    assert adjusted_rand_score(left, outcome.clustering.labels) == 1
    assert outcome.clustering.n_clusters == 2  # the third, which the set does not have, is gone
    assert outcome.clustering.steps == ()
    new = torch.tensor([[-3.0, 1.0], [9.0, 1.0]])
    side = outcome.rule.log_probabilities(new).argmax(1)
    assert side[0] == outcome.clustering.labels[points[:, 0].argmin()]
    assert side[1] == outcome.clustering.labels[points[:, 0].argmax()]


def test_constraints_hold_for_a_direct_system(four):
    points, _ = four
    config = InferenceConfig(constraints=Constraints(at_least=4, at_most=4))
    outcome = cluster_points(fakes.Halves(), points, config, random_state())
    assert outcome.clustering.n_clusters == 4


def test_a_commit_says_which_cluster_and_how_probable(four):
    points, truth = four
    batch = SetBatch.single(torch.from_numpy(points))
    state = find_clusters(fakes.PointByPoint(), batch, generator=torch.Generator().manual_seed(1))
    assert len(state.commits) == len(points)  # one point a step, beyond any limit on clusters
    assert all(int(commit.joined.sum()) == 1 for commit in state.commits)
    assert adjusted_rand_score(truth, claimed_labels(state.commits)[0].numpy()) == 1
    total = sum(float(commit.log_probability) for commit in state.commits)
    assert np.isfinite(total)
    assert total < 0


def test_the_generator_decides_the_partition():
    points = 3 * torch.randn(30, 2, generator=torch.Generator().manual_seed(0))  # in doubt
    batch = SetBatch.single(points)

    def draw(seed):
        generator = torch.Generator().manual_seed(seed)
        commits = find_clusters(fakes.PointByPoint(), batch, generator=generator).commits
        return claimed_labels(commits)[0]

    assert torch.equal(draw(3), draw(3))
    assert any(not torch.equal(draw(3), draw(seed)) for seed in range(4, 9))


def test_many_steps_become_one_rule(four):
    points, truth = four
    outcome = cluster_points(fakes.PointByPoint(), points, InferenceConfig(), random_state())
    assert adjusted_rand_score(truth, outcome.clustering.labels) == 1
    assert outcome.clustering.n_clusters == 4
    nearby = torch.from_numpy(points + 0.05)
    again = outcome.rule.log_probabilities(nearby).argmax(1).numpy()
    np.testing.assert_array_equal(again, outcome.clustering.labels)


def test_sets_of_a_batch_have_clusters_of_their_own():
    one, two = torch.zeros(6, 2), torch.cat([torch.zeros(3, 2), torch.full((3, 2), 9.0)])
    batch = SetBatch(torch.stack([one, two]), torch.ones(2, 6, dtype=torch.bool))
    state = find_clusters(fakes.PointByPoint(), batch, generator=torch.Generator().manual_seed(0))
    labels = claimed_labels(state.commits)
    assert labels[0].unique().tolist() == [0]
    assert labels[1].tolist() == [0, 0, 0, 1, 1, 1]


def test_an_encoder_in_front_of_the_loop_turns_items_into_vectors():
    draw = torch.Generator().manual_seed(0)
    dark, bright = (torch.rand(5, 1, 4, 4, generator=draw) + shift for shift in (0.0, 9.0))
    batch = SetBatch.single(torch.cat([dark, bright]))
    assert batch.points.shape == (1, 10, 1, 4, 4)
    outcome = cluster_points(
        fakes.Pictures(), batch.points[0].numpy(), InferenceConfig(), random_state()
    )
    assert outcome.context.shape == (10, 2)
    assert adjusted_rand_score([0] * 5 + [1] * 5, outcome.clustering.labels) == 1


@pytest.mark.parametrize("name", ["network", "em", "consolidate"])
def test_a_direct_system_with_a_density_has_every_ending(four, name):
    points, _ = four
    system = fakes.Halves()
    system.traits = replace(system.traits, density="gaussian", cluster_scale=0.2)
    config = InferenceConfig(choose_ending(name, system.traits))
    outcome = cluster_points(system, points, config, random_state())
    assert (outcome.clustering.log_likelihood is None) == (name == "network")
    if name == "consolidate":
        assert outcome.clustering.n_clusters == 4
    else:
        left = points[:, 0] < points[:, 0].mean()
        assert adjusted_rand_score(left, outcome.clustering.labels) == 1


def test_steps_that_name_their_cluster_end_in_a_frame_of_their_own(four):
    points, truth = four
    config = InferenceConfig(Ending(framed), second_look=True)
    outcome = cluster_points(fakes.PointByPoint(), points, config, random_state())
    assert adjusted_rand_score(truth, outcome.clustering.labels) == 1


def test_labels_of_a_batch_come_from_either_kind_of_system(four):
    points, truth = four
    batch = SetBatch.single(torch.from_numpy(points))
    left = points[:, 0] < points[:, 0].mean()
    assert adjusted_rand_score(left, find_labels(fakes.Halves(), batch)[0]) == 1
    drawn = find_labels(fakes.PointByPoint(), batch, generator=torch.Generator().manual_seed(0))
    assert adjusted_rand_score(truth, drawn[0]) == 1
