"""Rules on their way: without what prediction does not need, on another device."""

import pickle

import numpy as np
import pytest
import torch

import coterie
from coterie.inference.rules.neighbours import NeighbourRule
from coterie.inference.rules.partition import PartitionRule
from coterie.inference.rules.shipping import placed, slimmed
from coterie.inference.rules.wrapped import TemperedRule


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(400, 3)) * [1, 4, 9]


@pytest.fixture(scope="module")
def models(points):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)
        return {
            "noise": coterie.AMCP("amcp-universal-small", ending="network", noise=True).fit(points),
            "described": coterie.AMCP("amcp-universal-small", noise=True).fit(points),
            "merged": coterie.AMCP("amcp-universal-small", n_clusters=1).fit(points),
            "network": coterie.AMCP("amcp-warped2d").fit(points[:, :2]),
            "mixture": coterie.AMCP("amcp-mog2d").fit(points[:, :2]),
        }


@pytest.mark.parametrize("name", ["noise", "described", "merged", "network", "mixture"])
def test_what_is_shipped_says_the_same(models, points, name):
    model = models[name]
    rows = 3 * points[:, : model.n_features_in_]
    light = pickle.loads(pickle.dumps(model.fitted_.shipped()))
    np.testing.assert_array_equal(light.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(light.predict_proba(rows), model.predict_proba(rows))


def test_networks_behind_answers_are_left_at_home(models):
    fitted = models["noise"].fitted_
    assert len(pickle.dumps(fitted.shipped())) < len(pickle.dumps(fitted)) / 5


def test_a_rule_without_its_network_only_predicts(models):
    rule = models["noise"].fitted_.rule
    while not isinstance(rule, NeighbourRule):
        rule = rule.rule
    with pytest.raises(ValueError, match="can only predict"):
        slimmed(rule, noise=True).select(torch.arange(1))


def test_all_of_a_rule_moves(models):
    rule = placed(models["network"].fitted_.rule, "meta")
    while hasattr(rule, "rule"):
        rule = rule.rule
    replay = getattr(rule, "trunk", rule)
    assert replay.device.type == "meta"
    assert {each.device.type for each in replay.system.parameters()} == {"meta"}
    assert {part.device.type for commit in replay.commits for part in commit.memory} == {"meta"}
    assert models["network"].fitted_.rule.device.type == "cpu"  # a copy has moved


def test_neighbours_are_searched_on_the_cpu(models):
    assert placed(models["noise"].fitted_.shipped().rule, "meta").device.type == "cpu"


def test_partitions_stay_on_the_cpu(points):
    near = points.astype(np.float32)
    own = TemperedRule(PartitionRule.of((near[:, 2] > 0).astype(np.intp), near), 2.0)
    light = placed(slimmed(own, noise=True), "meta")
    assert light.device.type == "cpu"
    rows = torch.from_numpy(near + 1)
    assert torch.equal(light.log_probabilities(rows), own.log_probabilities(rows))
