from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import chi2, multivariate_normal

from coterie.data.batch import SetBatch
from coterie.functional.em import Gaussians
from coterie.inference.loop import find_clusters
from coterie.inference.rules.branching import HARDLY, BranchingRule
from coterie.inference.rules.mixture import MixtureRule
from coterie.inference.rules.protocol import Rule
from coterie.inference.rules.replay import ReplayRule
from coterie.inference.rules.wrapped import FramedRule
from coterie.inference.second_look import Look


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
    rows = whole[1].joined[0].nonzero()[:, 0]
    looks = [Look(whole[0], whole[0].joined[0].nonzero()[:, 0], ()), Look(whole[1], rows, parts)]
    return BranchingRule.of(exact, looks)


@pytest.fixture(scope="module")
def framed_rule(mixture_rule):
    return FramedRule(mixture_rule, shrunk)


def shrunk(table):
    return (0.5 * table).astype(np.float32)


@pytest.fixture(scope="module", params=["mixture", "replay", "branching", "framed"])
def rule(request, mixture_rule, replay_rule, branching_rule, framed_rule) -> Rule:
    rules = {
        "mixture": mixture_rule,
        "replay": replay_rule,
        "branching": branching_rule,
        "framed": framed_rule,
    }
    return rules[request.param]


def test_a_frame_is_where_points_go_first(framed_rule, mixture_rule, points):
    expected = mixture_rule.log_probabilities(0.5 * points)
    torch.testing.assert_close(framed_rule.log_probabilities(points), expected)
    assert torch.equal(framed_rule.unwanted(points), mixture_rule.unwanted(0.5 * points))


def test_a_branch_shares_out_the_probability_of_its_cluster(branching_rule, points):
    probabilities = branching_rule.log_probabilities(points).exp()
    whole = branching_rule.trunk.log_probabilities(points).exp()
    within = branching_rule.branches[1].log_probabilities(points).exp()
    torch.testing.assert_close(probabilities[:, 0], whole[:, 0])
    torch.testing.assert_close(probabilities[:, 1:].sum(1), whole[:, 1])
    asked = whole[:, 1] > HARDLY
    assert asked.any()
    assert not asked.all()
    torch.testing.assert_close(probabilities[asked, 1:], (whole[:, 1:] * within)[asked])
    torch.testing.assert_close(probabilities[~asked, 1], probabilities[~asked, 2])


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


def test_far_from_every_gaussian_is_wanted_by_none(mixture_rule):
    random = np.random.default_rng(0)
    points = random.uniform(-9, 9, (500, 2))
    distances = [
        np.square((points - mean) / np.exp(log_scale)).sum(1)
        for mean, log_scale in zip(*map(np.asarray, mixture_rule.mixture[1:]), strict=True)
    ]
    expected = np.min(distances, 0) > chi2.isf(1e-4, 2)
    assert 50 < expected.sum() < 450
    assert (mixture_rule.unwanted(torch.tensor(points)).numpy() == expected).all()


def test_what_every_step_refuses_is_wanted_by_none(shipped_dac, replay_rule):
    points = 4 * torch.randn(400, 2, generator=torch.Generator().manual_seed(0))
    commits = [replace(c, memory=tuple(m.float() for m in c.memory)) for c in replay_rule.commits]
    claims = shipped_dac.replay(points[None], commits)[0].sigmoid()
    for kept in ([0, 1, 2], [2, 0], [1]):
        refused = (1 - claims[:, kept]).prod(1)
        found = replay_rule.select(torch.tensor(kept)).unwanted(points)
        clear = (refused - 0.5).abs() > 1e-4
        assert (found == (refused > 0.5))[clear].all()
        assert 0 < found.sum() < 400


def test_what_an_undecided_step_took_is_wanted(shipped_dac, replay_rule, points):
    # As if no claim of the second step had come near one half.
    shy = [
        replace(c, membership_logits=c.membership_logits - 20 * n)
        for n, c in enumerate(replay_rule.commits[:2])
    ]
    two = torch.arange(2)
    lowered = replace(replay_rule, commits=tuple(shy), served=two, clusters=two)
    assert not replay_rule.unwanted(points).any()
    joined = shy[0].joined[0] | shy[1].joined[0]
    for number, commit in enumerate(shy):
        assert (commit.membership_logits[commit.joined].max() < 0) == bool(number)
    assert not lowered.unwanted(points)[joined].any()


def test_a_part_wants_what_its_cluster_wants(branching_rule):
    points = 4 * torch.randn(400, 2, generator=torch.Generator().manual_seed(0))
    trunk = branching_rule.trunk
    assert (branching_rule.unwanted(points) == trunk.unwanted(points)).all()
    for kept, clusters in (([2], [1]), ([1, 2], [1]), ([0], [0]), ([2, 0], [0, 1])):
        expected = trunk.select(torch.tensor(clusters)).unwanted(points)
        assert (branching_rule.select(torch.tensor(kept)).unwanted(points) == expected).all()


def test_fewer_clusters_want_fewer_points(rule):
    points = 4 * torch.randn(200, 2, generator=torch.Generator().manual_seed(1))
    before = rule.unwanted(points)
    after = rule.select(torch.tensor([0, 2])).unwanted(points)
    assert (after | ~before).all()


@pytest.mark.parametrize("size", [1, 7, 59])
def test_chunks_do_not_matter_to_who_is_wanted(rule, size):
    points = 4 * torch.randn(60, 2, generator=torch.Generator().manual_seed(1))
    chunks = torch.cat([rule.unwanted(chunk) for chunk in points.split(size)])
    assert (chunks == rule.unwanted(points)).all()


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
