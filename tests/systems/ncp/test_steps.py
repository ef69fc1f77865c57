"""Seats drawn by the loop against exact enumeration, and the faster steps against the plain."""

import copy
from itertools import product

import pytest
import torch

from coterie.data.batch import SetBatch
from coterie.inference.loop import find_clusters
from coterie.systems.ncp.prefixes import prefixes
from coterie.systems.ncp.steps import NCP
from coterie.systems.protocol import MOST_CLUSTERS, State, claimed_labels


def random_batch(seed: int = 0, n_points: int = 12) -> SetBatch:
    """Three sets of different sizes; what lies under the mask is far from harmless."""
    generator = torch.Generator().manual_seed(seed)
    points = 3 * torch.randn(3, n_points, 2, generator=generator, dtype=torch.float64)
    mask = torch.rand(3, n_points, generator=generator) < 0.7
    mask[:, 0] = True
    return SetBatch(torch.where(mask[..., None], points, 50.0), mask)


def total(state: State) -> torch.Tensor:
    return torch.stack([commit.log_probability for commit in state.commits]).sum(0)


def seated(system: NCP, batch: SetBatch, seed: int | None, *, accelerate: bool) -> State:
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    return find_clusters(system, batch, generator=generator, accelerate=accelerate)


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_seating_all_at_once_is_seating_one_by_one(small_ncp, seed):
    batch = random_batch()
    one_by_one = seated(small_ncp, batch, seed, accelerate=False)
    at_once = seated(small_ncp, batch, seed, accelerate=True)
    assert len(one_by_one.commits) == int(batch.mask.sum(1).max())
    assert all((commit.joined.sum(1) <= 1).all() for commit in one_by_one.commits)
    labels = claimed_labels(at_once.commits)
    assert torch.equal(labels, claimed_labels(one_by_one.commits))
    assert torch.equal(labels >= 0, batch.mask)
    assert len(at_once.commits) == int(labels.max()) + 1
    torch.testing.assert_close(total(at_once), total(one_by_one))
    torch.testing.assert_close(small_ncp.sums(at_once.commits), small_ncp.sums(one_by_one.commits))


@pytest.mark.parametrize("seed", [None, 0])
def test_scores_that_overflow_are_refused(small_ncp, seed):
    damaged = copy.deepcopy(small_ncp).requires_grad_(False)
    damaged.network.read_clusters.weight *= 1e300
    damaged.network.cluster[0].weight *= 1e300
    with pytest.raises(ValueError, match="not finite: its weights are damaged"):
        seated(damaged, random_batch(), seed, accelerate=True)


def canonical(labels: list[int]) -> tuple[int, ...]:
    """The same partition, clusters numbered by their first point."""
    names = {name: number for number, name in enumerate(dict.fromkeys(labels))}
    return tuple(names[label] for label in labels)


def test_draws_follow_the_exact_probabilities_of_all_partitions_of_four_points(small_ncp):
    points = random_batch(3, n_points=4).points[:1]
    points[0] = torch.tensor([[0.5, 0.0], [0.0, 0.4], [-1.0, 1.0], [0.2, -0.8]]).double()
    partitions = sorted({canonical(list(each)) for each in product(range(4), repeat=4)})
    assert len(partitions) == 15
    orders = torch.tensor(
        [list(each) for each in product(range(4), repeat=4) if len(set(each)) == 4]
    )
    labels = torch.tensor(partitions)[:, orders]  # (15, 24, 4), in the order of seating
    shown = points[0][orders].repeat(15, 1, 1)
    flat = labels.flatten(0, 1)
    seats = small_ncp.seat_log_probabilities(shown, flat, flat >= 0, prefixes(flat, 4))
    exact = seats.sum(1).exp().view(15, 24).mean(1)
    assert float(exact.sum()) == pytest.approx(1)
    n_draws = 20_000
    batch = SetBatch(points.expand(n_draws, -1, -1), torch.ones(n_draws, 4, dtype=torch.bool))
    state = seated(small_ncp, batch, 0, accelerate=True)
    drawn = [canonical(each) for each in claimed_labels(state.commits).tolist()]
    shares = torch.tensor([drawn.count(each) / n_draws for each in partitions]).double()
    error = (exact * (1 - exact) / n_draws).sqrt()
    assert ((shares - exact).abs() < 4.5 * error + 1e-9).all()
    assert int((exact > 0.02).sum()) >= 5  # in doubt, or this would say little


def test_the_reported_probability_is_that_of_the_labels_drawn(small_ncp):
    points = random_batch(4, n_points=3).points[:1]
    batch = SetBatch(points, torch.ones(1, 3, dtype=torch.bool))
    state = seated(small_ncp, batch, 1, accelerate=False)
    order = [int(commit.joined[0].nonzero()) for commit in state.commits]
    labels = claimed_labels(state.commits)[:, order]
    seats = small_ncp.seat_log_probabilities(
        points[:, order], labels, labels >= 0, prefixes(labels, 3)
    )
    torch.testing.assert_close(total(state), seats.sum(1))


def test_companions_and_padding_leave_greedy_seats_unchanged(small_ncp):
    batch = random_batch(6)
    together = claimed_labels(seated(small_ncp, batch, None, accelerate=True).commits)
    for number, mask in enumerate(batch.mask):
        alone = SetBatch.single(batch.points[number][mask])
        labels = claimed_labels(seated(small_ncp, alone, None, accelerate=True).commits)
        assert torch.equal(together[number][mask], labels[0])


def test_copies_of_one_set_are_seated_like_separate_sets(small_ncp):
    points = random_batch(7).points[:1]
    mask = torch.ones(5, points.shape[1], dtype=torch.bool)
    view, copies = (points.expand(5, -1, -1), points.repeat(5, 1, 1))
    one, other = (
        seated(small_ncp, SetBatch(each, mask), 3, accelerate=True) for each in (view, copies)
    )
    assert torch.equal(claimed_labels(one.commits), claimed_labels(other.commits))
    torch.testing.assert_close(total(one), total(other))


def test_there_is_an_end_to_new_clusters(small_ncp):
    eager = NCP(small_ncp.config).double().requires_grad_(False)
    eager.load_state_dict(small_ncp.state_dict())
    # The score falls with what a cluster becomes beyond its first point, so all sit alone.
    for weight in eager.parameters():
        weight.data.zero_()
    eager.network.cluster[-1].bias.data.fill_(1.0)
    eager.network.read_clusters.weight.data.fill_(1.0)
    for layer in eager.network.rest_of_score:
        if hasattr(layer, "weight"):
            layer.weight.data.fill_(1.0)
    n_points = MOST_CLUSTERS + 10
    batch = SetBatch(torch.zeros(1, n_points, 2).double(), torch.ones(1, n_points).bool())
    labels = claimed_labels(seated(eager, batch, None, accelerate=True).commits)
    assert int(labels.max()) == MOST_CLUSTERS - 1
    assert (labels >= 0).all()


def test_a_further_point_is_seated_given_all_others(small_ncp):
    batch = random_batch(8)
    batch = SetBatch(batch.points[:1], batch.mask[:1])
    state = seated(small_ncp, batch, 0, accelerate=True)
    labels = claimed_labels(state.commits)[0][batch.mask[0]]
    new = torch.tensor([[[0.3, -0.2]]]).double()
    seats = small_ncp.seat(new, small_ncp.sums(state.commits))[0, 0]
    n_clusters = int(labels.max()) + 1
    assert seats.shape == (n_clusters + 1,)
    shown = torch.cat([batch.points[0][batch.mask[0]], new[0]])[None]
    for seat in range(n_clusters + 1):
        whole = torch.cat([labels, torch.tensor([seat])])[None]
        last = small_ncp.seat_log_probabilities(
            shown, whole, whole >= 0, prefixes(whole, n_clusters + 1)
        )[0, -1]
        torch.testing.assert_close(seats[seat], last)


def test_replay_is_how_sure_a_point_is_of_each_cluster(small_ncp):
    batch = random_batch(9)
    for accelerate in (False, True):
        commits = seated(small_ncp, batch, 0, accelerate=accelerate).commits
        logits = small_ncp.replay(batch.points, commits)
        assert logits.shape == (3, batch.points.shape[1], len(commits))
        seats = small_ncp.seat(batch.points, small_ncp.sums(commits))
        first = commits[0].cluster
        expected = seats[torch.arange(3), :, first].exp()
        torch.testing.assert_close(logits[..., 0].sigmoid(), expected, atol=1e-6, rtol=1e-5)
