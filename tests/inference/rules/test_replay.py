"""Steps of which several serve one cluster, against a computation point by point."""

import math

import pytest
import torch
from torch import Tensor

from coterie.inference.rules.replay import ReplayRule
from coterie.systems.protocol import Commit

STEPS = 5
SERVED = [0, 1, 0, 2, 1]


class Planes:
    """A system whose steps are linear in the point; each kept its plane."""

    def replay(self, points: Tensor, commits) -> Tensor:
        planes = torch.stack([commit.memory[0] for commit in commits], 1)  # (B, S, 3)
        return points @ planes[..., :2].transpose(1, 2) + planes[:, None, :, 2]


def commits_of(served: list[int] | None, lowest: float = 1.0) -> tuple[Commit, ...]:
    planes = torch.randn(STEPS, 1, 3, generator=torch.Generator().manual_seed(0))
    planes[..., 2] -= 2  # so that some points are refused by all
    joined, logits = torch.tensor([[True, False]]), torch.tensor([[lowest, -3.0]])
    return tuple(
        Commit(joined, logits, (plane,), None if served is None else torch.tensor([served[number]]))
        for number, plane in enumerate(planes)
    )


@pytest.fixture
def points() -> Tensor:
    return 2 * torch.randn(40, 2, generator=torch.Generator().manual_seed(1))


def claims(points: Tensor) -> list[list[float]]:
    """The probability that a step claims a point that is offered to it, for each point."""
    probabilities = []
    for x, y in points.tolist():
        own = []
        for commit in commits_of(None):
            a, b, c = commit.memory[0][0].tolist()
            own.append(1 / (1 + math.exp(-(a * x + b * y + c))))
        probabilities.append(own)
    return probabilities


def by_hand(points: Tensor, served: list[int], kept: list[int]) -> Tensor:
    """Each point in turn is offered to every step; a cluster has what its steps took."""
    rows = []
    for own in claims(points):
        offered, taken = 1.0, [0.0] * (max(served) + 1)
        for cluster, claim in zip(served, own, strict=True):
            taken[cluster] += offered * claim
            offered *= 1 - claim
        some = [taken[cluster] for cluster in kept]
        rows.append([each / sum(some) for each in some])
    return torch.tensor(rows, dtype=torch.float64)


@pytest.mark.parametrize("kept", [[0, 1, 2], [2, 0, 1], [1, 2], [0]])
@pytest.mark.parametrize("served", [SERVED, [0, 0, 0, 1, 2], [0, 1, 2, 2, 2]])
def test_a_cluster_has_what_all_of_its_steps_took(points, served, kept):
    rule = ReplayRule.of(Planes(), commits_of(served))
    assert rule.n_clusters == 3
    rule = rule.select(torch.tensor(kept))
    assert rule.n_clusters == len(kept)
    found = rule.log_probabilities(points)
    assert found.dtype == torch.float64
    torch.testing.assert_close(found.exp(), by_hand(points, served, kept), rtol=0, atol=1e-6)


def test_all_steps_may_serve_one_cluster(points):
    rule = ReplayRule.of(Planes(), commits_of([0] * STEPS))
    assert rule.n_clusters == 1
    assert not rule.log_probabilities(points).any()


def test_steps_that_name_their_own_clusters_are_as_steps_that_name_none(points):
    named = ReplayRule.of(Planes(), commits_of(list(range(STEPS))))
    silent = ReplayRule.of(Planes(), commits_of(None))
    found = silent.log_probabilities(points)
    assert torch.equal(named.log_probabilities(points), found)
    everything = by_hand(points, list(range(STEPS)), list(range(STEPS)))
    torch.testing.assert_close(found.exp(), everything, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kept", [[0, 1, 2], [2], [1, 0], [2, 1]])
def test_unwanted_is_what_every_step_of_the_clusters_refuses(points, kept):
    rule = ReplayRule.of(Planes(), commits_of(SERVED)).select(torch.tensor(kept))
    expected = []
    for own in claims(points):
        refused = 1.0
        for cluster, claim in zip(SERVED, own, strict=True):
            refused *= 1 - claim if cluster in kept else 1
        expected.append(refused > 0.5)
    assert 0 < sum(expected) < len(expected)
    assert rule.unwanted(points).tolist() == expected


def test_what_an_undecided_step_took_counts_as_one_half(points):
    sure, undecided = (
        ReplayRule.of(Planes(), commits_of(SERVED, lowest)).unwanted(points)
        for lowest in (1.0, -2.0)
    )
    assert (sure | ~undecided).all()
    assert sure.sum() > undecided.sum()
