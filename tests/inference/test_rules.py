from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from coterie.data.batch import SetBatch
from coterie.functional.em import Gaussians
from coterie.inference.loop import find_clusters
from coterie.inference.rules import BranchingRule, MixtureRule, ReplayRule, Rule


@pytest.fixture(scope="module")
def points(blobs):
    return torch.tensor(blobs.points, dtype=torch.float32)


@pytest.fixture(scope="module")
def mixture_rule():
    mean = torch.tensor([[-4.0, -2.0], [4.0, -2.0], [0.0, 5.0]], dtype=torch.float64)
    weight = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    return MixtureRule(Gaussians(weight.log(), mean, 0.1 * mean))


@pytest.fixture(scope="module")
def replay_rule(shipped_dac, points):
    commits = find_clusters(shipped_dac, SetBatch.single(points)).commits
    return ReplayRule.of(deepcopy(shipped_dac).double(), commits)


@pytest.fixture(scope="module")
def branching_rule(shipped_dac, points):
    """Two clusters, of which the second stands for two."""
    whole = find_clusters(shipped_dac, SetBatch.single(points)).commits
    parts = find_clusters(shipped_dac, SetBatch.single(points[whole[0].joined[0] == 0])).commits
    assert len(parts) == 2
    exact = deepcopy(shipped_dac).double()
    return BranchingRule.of(exact, whole[:2], [(), parts])


@pytest.fixture(scope="module", params=["mixture", "replay", "branching"])
def rule(request, mixture_rule, replay_rule, branching_rule) -> Rule:
    rules = {"mixture": mixture_rule, "replay": replay_rule, "branching": branching_rule}
    return rules[request.param]


def test_a_branch_shares_out_the_probability_of_its_cluster(branching_rule, points):
    probabilities = branching_rule.log_probabilities(points).exp()
    whole = branching_rule.trunk.log_probabilities(points).exp()
    within = branching_rule.branches[1].log_probabilities(points).exp()
    torch.testing.assert_close(probabilities[:, 0], whole[:, 0])
    torch.testing.assert_close(probabilities[:, 1:], whole[:, 1:] * within)


def test_probabilities_sum_to_one(rule, points):
    probabilities = rule.log_probabilities(points).exp()
    assert probabilities.shape == (300, rule.n_clusters) == (300, 3)
    assert probabilities.dtype == torch.float64
    torch.testing.assert_close(probabilities.sum(1), torch.ones(300).double(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [1, 7, 59])
def test_chunks_do_not_matter(rule, points, size):
    whole = rule.log_probabilities(points[:60])
    chunks = torch.cat([rule.log_probabilities(chunk) for chunk in points[:60].split(size)])
    torch.testing.assert_close(chunks, whole, rtol=1e-12, atol=1e-12)


def test_order_of_the_points_does_not_matter(rule, points):
    order = torch.randperm(300, generator=torch.Generator().manual_seed(0))
    whole = rule.log_probabilities(points)
    torch.testing.assert_close(
        rule.log_probabilities(points[order]), whole[order], rtol=1e-12, atol=1e-12
    )


def test_selection_in_another_order_permutes_the_clusters(rule, points):
    order = torch.tensor([2, 0, 1])
    whole = rule.log_probabilities(points)
    torch.testing.assert_close(rule.select(order).log_probabilities(points), whole[:, order])


def test_selection_shares_what_the_others_had(rule, points):
    kept = torch.tensor([2, 0])
    part = rule.log_probabilities(points).exp()[:, kept]
    expected = part / part.sum(1, keepdim=True)
    known = part.sum(1) > 1e-6  # elsewhere the quotient has no digits left
    found = rule.select(kept).log_probabilities(points).exp()
    torch.testing.assert_close(found[known], expected[known])


def test_selections_follow_one_another(rule, points):
    twice = rule.select(torch.tensor([2, 0, 1])).select(torch.tensor([1, 2]))
    once = rule.select(torch.tensor([0, 1]))
    assert twice.n_clusters == once.n_clusters == 2
    torch.testing.assert_close(twice.log_probabilities(points), once.log_probabilities(points))


def test_mixture_rule_is_bayes_rule(mixture_rule):
    points = torch.tensor([[0.0, 0.0], [2.0, -1.0], [-3.0, 1.0]])
    joint = [
        log_weight + multivariate_normal.logpdf(points, mean, np.diag(np.exp(2 * log_scale)))
        for log_weight, mean, log_scale in zip(*map(np.asarray, mixture_rule.mixture), strict=True)
    ]
    joint = torch.tensor(np.stack(joint, 1))
    torch.testing.assert_close(mixture_rule.log_probabilities(points), joint.log_softmax(1))
    torch.testing.assert_close(mixture_rule.log_likelihood(points), joint.logsumexp(1))


def test_replay_rule_offers_a_point_to_the_clusters_in_turn(shipped_dac, replay_rule):
    points = 3 * torch.randn(50, 2, generator=torch.Generator().manual_seed(0))
    commits = [replace(c, memory=tuple(m.float() for m in c.memory)) for c in replay_rule.commits]
    first, second, third = shipped_dac.replay(points[None], commits)[0].sigmoid().unbind(-1)
    turns = [first, (1 - first) * second, (1 - first) * (1 - second) * third]
    expected = torch.stack(turns, 1) / sum(turns)[:, None]
    found = replay_rule.log_probabilities(points).exp().float()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)


def test_replay_rule_gives_the_set_the_labels_the_loop_gave(replay_rule, points):
    labels = replay_rule.log_probabilities(points).argmax(1)
    for number, commit in enumerate(replay_rule.commits):
        assert (labels[commit.joined[0]] == number).all()
