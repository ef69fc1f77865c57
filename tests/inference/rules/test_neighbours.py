import pickle
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch

from coterie.inference.rules.neighbours import NEIGHBOURS, NeighbourRule

CENTRES = torch.tensor([[-2.0, 0.0], [2.0, 0.0], [0.0, 3.0]], dtype=torch.float64)
N_CONTEXT = 40


@dataclass(frozen=True)
class Nearest:
    """A source: the nearer a centre, the more probable; only to the right of an edge wanted."""

    centres: torch.Tensor = CENTRES
    edge: float = 0.0
    asked: list = field(default_factory=list, compare=False)

    @property
    def device(self):
        return self.centres.device

    @property
    def n_clusters(self):
        return len(self.centres)

    def log_probabilities(self, points):
        self.asked.append(points)
        return (-torch.cdist(points.double(), self.centres)).log_softmax(1)

    def unwanted(self, points):
        return points[:, 0].double() < self.edge + 0.5 * (len(CENTRES) - self.n_clusters)

    def select(self, clusters):
        return Nearest(self.centres[clusters], self.edge)


def drawn(n_points: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 2, (n_points, 2)).astype(np.float32)


@pytest.fixture(scope="module")
def context():
    return drawn(N_CONTEXT, 0)


@pytest.fixture(scope="module")
def rule(context):
    return NeighbourRule.of(Nearest(), context)


@pytest.fixture(scope="module")
def points():
    return torch.from_numpy(drawn(100, 1))


def source_says(points) -> np.ndarray:
    return Nearest().log_probabilities(torch.as_tensor(points)).exp().numpy()


def interpolated(points, context, answers, n_neighbours=NEIGHBOURS) -> np.ndarray:
    """The answers (m, K) of the nearest, by the inverse of their squared distances: (M, K)."""
    out = []
    for point in np.asarray(points, dtype=np.float64):
        square = np.square(context.astype(np.float64) - point).sum(1)
        nearest = np.argsort(square)[:n_neighbours]
        weights = 1 / square[nearest]
        out.append(np.average(answers[nearest], 0, weights))
    return np.stack(out)


def assert_says(rule, points, expected, tolerance=1e-12):
    found = rule.log_probabilities(torch.as_tensor(points))
    assert found.dtype == torch.float64
    np.testing.assert_allclose(found.exp().numpy(), expected, rtol=0, atol=tolerance)


def test_points_of_the_context_get_what_the_source_says(rule, context):
    assert_says(rule, context, source_says(context))


def test_the_source_is_asked_once_and_about_the_context_alone(context, points):
    source = Nearest()
    rule = NeighbourRule.of(source, context)
    rule.log_probabilities(points)
    (asked,) = source.asked
    assert torch.equal(asked, torch.from_numpy(context))
    assert (rule.n_clusters, rule.device) == (3, torch.device("cpu"))


def test_others_get_what_lies_between(rule, context, points):
    assert_says(rule, points, interpolated(points, context, source_says(context)))


def test_midway_between_two_is_their_mean():
    context = np.array([[-1, 0], [1, 0], [0, 1e4], [5e3, 9e3]], dtype=np.float32)
    said = source_says(context)
    found = NeighbourRule.of(Nearest(), context).log_probabilities(torch.zeros(1, 2)).exp()
    # The third neighbour is 1e4 times as far away: it weighs 1e-8 as much.
    np.testing.assert_allclose(found[0].numpy(), said[:2].mean(0), rtol=0, atol=1e-8)


def test_three_times_as_near_counts_nine_times():
    context = np.array([[0, 0], [4, 0]], dtype=np.float32)
    near, far = source_says(context)
    rule = NeighbourRule.of(Nearest(), context)
    assert_says(rule, [[1.0, 0.0]], [(9 * near + far) / 10])


def test_probabilities_sum_to_one(rule, points):
    total = rule.log_probabilities(points).exp().sum(1)
    torch.testing.assert_close(total, torch.ones(100).double(), rtol=0, atol=1e-12)


def test_however_far_away_there_is_an_answer(rule):
    found = rule.log_probabilities(torch.tensor([[1e12, 0.0], [-3e30, 2e30]])).exp()
    torch.testing.assert_close(found.sum(1), torch.ones(2).double(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_copies", [2, 3, 5])
def test_duplicates_in_the_context(context, n_copies):
    repeated = np.concatenate([context] + [context[:10]] * (n_copies - 1))
    rule = NeighbourRule.of(Nearest(), repeated)
    assert_says(rule, context, source_says(context))


def test_duplicates_share_what_is_said_of_them(context):
    """A source that reads more than the places may say different things of one place."""
    rule = NeighbourRule.of(Nearest(), np.concatenate([context[:1], context]))
    changed = rule.answers.clone()
    changed[0] = torch.tensor([0.8, 0.1, 0.1]).log()
    changed[1] = torch.tensor([0.2, 0.2, 0.6]).log()
    doubled = replace(rule, answers=changed)
    assert_says(doubled, context[:1], [[0.5, 0.15, 0.35]], tolerance=1e-6)


def test_a_context_of_one_point_answers_for_all(context, points):
    rule = NeighbourRule.of(Nearest(), context[:1])
    assert_says(rule, points, np.repeat(source_says(context[:1]), 100, 0))
    expected = Nearest().unwanted(torch.from_numpy(context[:1])).expand(100)
    assert torch.equal(rule.unwanted(points), expected)


def test_a_context_of_two_points(context, points):
    rule = NeighbourRule.of(Nearest(), context[:2])
    assert_says(rule, points, interpolated(points, context[:2], source_says(context[:2]), 2))
    assert_says(rule, context[:2], source_says(context[:2]))


@pytest.mark.parametrize("kept", [[2, 0], [1], [1, 2, 0]])
def test_selection_shares_what_the_others_had(rule, context, kept):
    part = source_says(context)[:, kept]
    selected = rule.select(torch.tensor(kept))
    assert selected.n_clusters == len(kept)
    assert_says(selected, context, part / part.sum(1, keepdims=True))


def test_selection_comes_after_the_neighbours_have_spoken(rule, points):
    kept = torch.tensor([2, 0])
    selected, part = rule.select(kept), rule.log_probabilities(points).exp()[:, kept]
    assert torch.equal(selected.source.centres, CENTRES[kept])
    assert_says(selected, points, (part / part.sum(1, keepdim=True)).numpy())


def test_selections_follow_one_another(rule, points):
    twice = rule.select(torch.tensor([2, 0, 1])).select(torch.tensor([1, 2]))
    once = rule.select(torch.tensor([0, 1]))
    assert_says(twice, points, once.log_probabilities(points).exp().numpy())
    assert torch.equal(twice.source.centres, once.source.centres)


def unwanted_by_brute_force(points, context, edge) -> list[bool]:
    square = np.square(points.numpy()[:, None] - context).sum(-1)
    return (context[square.argmin(1), 0] < edge).tolist()


def test_unwanted_are_those_whose_neighbour_is(rule, context, points):
    expected = unwanted_by_brute_force(points, context, 0.0)
    assert 20 < sum(expected) < 80
    assert rule.unwanted(points).tolist() == expected
    at_home = torch.from_numpy(context)
    assert torch.equal(rule.unwanted(at_home), Nearest().unwanted(at_home))


def test_who_is_unwanted_the_clusters_that_are_left_decide(rule, context, points):
    before = rule.unwanted(points)
    selected = rule.select(torch.tensor([1, 0]))
    expected = unwanted_by_brute_force(points, context, 0.5)
    assert selected.unwanted(points).tolist() == expected
    assert expected != before.tolist()
    assert torch.equal(rule.unwanted(points), before)  # the rule itself stays as it was


@pytest.mark.parametrize("size", [1, 7, 99])
def test_chunks_do_not_matter(rule, points, size):
    chunks = torch.cat([rule.log_probabilities(chunk) for chunk in points.split(size)])
    torch.testing.assert_close(chunks, rule.log_probabilities(points), rtol=1e-12, atol=1e-12)
    refused = torch.cat([rule.unwanted(chunk) for chunk in points.split(size)])
    assert torch.equal(refused, rule.unwanted(points))


def test_the_order_of_the_context_does_not_matter(rule, context, points):
    turned = NeighbourRule.of(Nearest(), context[::-1].copy())
    assert_says(turned, points, rule.log_probabilities(points).exp().numpy())
    assert torch.equal(turned.unwanted(points), rule.unwanted(points))


@pytest.mark.parametrize("asked_before", [False, True])
def test_a_rule_survives_pickling(context, points, asked_before):
    rule = NeighbourRule.of(Nearest(), context).select(torch.tensor([2, 0]))
    if asked_before:
        rule.unwanted(points)
    copy = pickle.loads(pickle.dumps(rule))
    assert torch.equal(copy.log_probabilities(points), rule.log_probabilities(points))
    assert torch.equal(copy.unwanted(points), rule.unwanted(points))
