from dataclasses import replace

import numpy as np
import pytest
import torch

from coterie.inference.belief import (
    FitRecord,
    belief_by_evidence,
    belief_by_repeats,
    k_probabilities,
    repeated_answers,
    smear,
)
from coterie.inference.config import InferenceConfig
from coterie.inference.constraints import Constraints
from coterie.inference.endings import choose_ending
from coterie.inference.engine import cluster_points
from coterie.systems.amcp.config import AMCPConfig
from coterie.systems.amcp.steps import AMCP
from coterie.weights.catalogue import open_model


def fitted(weights, points, *, ending="auto", **settings):
    network, card = open_model(weights)
    exact, _ = open_model(weights, "cpu", torch.float64)
    config = InferenceConfig(choose_ending(ending, card.traits), **settings)
    points = points.astype(np.float32)
    outcome = cluster_points(network, points, config, np.random.RandomState(0), exact=exact)
    return FitRecord(network, outcome, config, points.shape[1])


def assert_is_belief(belief):
    assert belief[0] == 0
    assert (belief >= 0).all()
    assert belief.sum() == pytest.approx(1)


def test_with_a_density_the_evidence_is_believed(blobs):
    fit = fitted("amcp-mog2d", blobs.points)
    belief = k_probabilities(fit)
    assert_is_belief(belief)
    assert belief[3] > 0.95
    np.testing.assert_array_equal(belief, belief_by_evidence(fit))


@pytest.mark.parametrize(
    ("weights", "settings"), [("amcp-warped2d", {}), ("amcp-mog2d", {"ending": "network"})]
)
def test_else_the_network_is_asked_again(blobs, weights, settings):
    fit = fitted(weights, blobs.points, **settings)
    belief = k_probabilities(fit)
    assert_is_belief(belief)
    np.testing.assert_array_equal(belief, belief_by_repeats(fit))


def test_clusters_of_foreign_scales_are_no_matter_for_the_evidence(blobs):
    narrow = 0.02 * (blobs.points - blobs.points.mean(0)) + blobs.points
    narrow[blobs.labels == 1] *= [5.0, 0.01]
    fit = fitted("amcp-mog2d", narrow)
    assert belief_by_evidence(fit) is None
    np.testing.assert_array_equal(k_probabilities(fit), belief_by_repeats(fit))


@pytest.mark.parametrize("weights", ["amcp-mog2d", "amcp-warped2d"])
@pytest.mark.parametrize("bounds", [(2, 4), (1, 2), (4, 9)])
def test_the_belief_keeps_to_what_was_asked_for(blobs, weights, bounds):
    belief = k_probabilities(fitted(weights, blobs.points, constraints=Constraints(*bounds)))
    assert_is_belief(belief)
    assert np.flatnonzero(belief).min() >= bounds[0]
    assert np.flatnonzero(belief).max() <= bounds[1]


def test_a_number_that_was_asked_for_is_certain_and_costs_nothing(blobs, monkeypatch):
    fit = fitted("amcp-warped2d", blobs.points, constraints=Constraints(5, 5))
    monkeypatch.setattr("coterie.inference.belief.cluster_points", None)
    assert k_probabilities(fit).tolist() == [0, 0, 0, 0, 0, 1]


def test_a_range_for_the_number_does_not_change_the_answers(blobs):
    free = fitted("amcp-warped2d", blobs.points)
    bound = fitted("amcp-warped2d", blobs.points, constraints=Constraints(8, 9))
    assert repeated_answers(bound) == repeated_answers(free)


def test_smallest_sizes_shrink_with_the_parts(blobs):
    # The third cluster has 50 rows, 40 of them in a part on average, and is there all the same.
    fit = fitted("amcp-mog2d", blobs.points, ending="network")
    bound = replace(fit, config=replace(fit.config, constraints=Constraints(min_cluster_size=42)))
    assert set(repeated_answers(bound)) == {3}
    bound = replace(fit, config=replace(fit.config, constraints=Constraints(min_cluster_size=75)))
    assert set(repeated_answers(bound)) == {2}


@pytest.mark.parametrize("n_points", [1, 2, 7])
def test_a_few_points_have_a_belief(n_points):
    torch.manual_seed(0)
    network = AMCP(AMCPConfig(width=16, read_width=16, heads=2, references=4, density="none"))
    network.eval().requires_grad_(False)
    points = np.random.default_rng(0).normal(size=(n_points, 2)).astype(np.float32)
    config = InferenceConfig()
    outcome = cluster_points(network, points, config, np.random.RandomState(0))
    belief = k_probabilities(FitRecord(network, outcome, config, 2))
    assert_is_belief(belief)
    assert len(belief) <= n_points + 1


def test_a_network_that_always_answers_the_same_is_not_believed_blindly():
    belief = smear([2] * 9, 32)
    assert belief.argmax() == 2
    assert 0.8 < belief[2] < 0.9
    assert belief.sum() == pytest.approx(1)


def test_answers_that_differ_are_believed_less():
    assert smear([2] * 9, 32)[2] > 1.3 * smear([2] * 6 + [1, 3, 3], 32)[2]
