"""Seating one point after another: a step costs O(K), whatever has been seated before.

Sets, and several samples of one set, are seated side by side.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.functional import pad

from coterie.data.batch import SetBatch
from coterie.systems.ncp.network import SeatingNetwork
from coterie.systems.protocol import MOST_CLUSTERS

MOST_CERTAIN = 16.0  # a logit, for probabilities that are one in floating point


@dataclass(frozen=True)
class Queue:
    """The points of B sets on their way to a seat.

    order: (B, N), the points in the order of seating, valid ones first; own: h of each point,
    (B, N, P), in its own place; waiting: (B, N, P), U after each point of the order has left;
    lengths: (B,), how many are valid.
    """

    order: Tensor
    own: Tensor
    waiting: Tensor
    lengths: Tensor


@dataclass(frozen=True)
class Seats:
    """The clusters so far, in C slots, of which those in use come first.

    sums: H, (B, C, P); clusters: g(H), (B, C, Q); both are zero in slots that are free;
    n_clusters: (B,); n_seated: how many points of the queue were offered a seat.
    """

    sums: Tensor
    clusters: Tensor
    n_clusters: Tensor
    n_seated: int = 0

    @property
    def n_slots(self) -> int:
        """C."""
        return self.sums.shape[1]

    def with_slots(self, n_slots: int) -> "Seats":
        """The same clusters among at least so many slots."""
        more = (0, 0, 0, max(0, n_slots - self.n_slots))
        return replace(self, sums=pad(self.sums, more), clusters=pad(self.clusters, more))


class Seated(NamedTuple):
    """One point of each set was seated.

    point: (B,), which; cluster: (B,), where; log_probability: (B,) of that; exists: (B,) bool,
    False for sets in which no point was left; seats: the clusters afterwards.
    """

    point: Tensor
    cluster: Tensor
    log_probability: Tensor
    exists: Tensor
    seats: Seats


def line_up(network: SeatingNetwork, batch: SetBatch, generator: Generator | None) -> Queue:
    """The points of each set in random order, or in their own without a generator.

    They are read in the precision of the network.
    """
    points, mask = batch.points, batch.mask
    if generator is None:
        rank = torch.zeros(mask.shape, device=mask.device)
    else:
        rank = torch.rand(mask.shape, generator=generator, device=mask.device)
    order = torch.where(mask, rank, 2.0).argsort(dim=1, stable=True)
    # Copies of one set (a view along the first axis) are encoded once.
    shown = points[:1] if points.stride(0) == 0 else points
    shown = shown.to(next(network.parameters()).dtype)
    own = network.seated_point(shown).expand(len(points), -1, -1)
    idle = network.waiting_point(shown).expand(len(points), -1, -1)
    idle = idle.gather(1, order[..., None].expand(-1, -1, idle.shape[-1]))
    lengths = mask.sum(1)
    valid = torch.arange(mask.shape[1], device=mask.device) < lengths[:, None]
    idle = torch.where(valid[..., None], idle, 0.0)
    return Queue(order, own, network.waiting(idle, lengths), lengths)


def free_seats(network: SeatingNetwork, queue: Queue) -> Seats:
    """No cluster yet, and one free slot."""
    n_sets, _, width = queue.own.shape
    return Seats(
        queue.own.new_zeros(n_sets, 1, width),
        queue.own.new_zeros(n_sets, 1, network.cluster_width),
        torch.zeros(n_sets, dtype=torch.int64, device=queue.order.device),
    )


def seat_next(
    network: SeatingNetwork, queue: Queue, seats: Seats, generator: Generator | None
) -> Seated:
    """Seat the next point of every set, drawn at random or, without a generator, most probably.

    The slot after those in use stands for a new cluster, so seats must have one free slot. Beyond
    MOST_CLUSTERS a set gets no new one.
    """
    rows = torch.arange(len(queue.order), device=queue.order.device)
    point = queue.order[:, seats.n_seated]
    own = queue.own[rows, point]  # (B, P)
    joined = network.join(seats.sums, own)  # (B, C, Q)
    scores = network.score_joined(joined, seats.clusters, queue.waiting[:, seats.n_seated])
    slot = torch.arange(seats.n_slots, device=rows.device)
    last = seats.n_clusters.clamp_max(MOST_CLUSTERS - 1)
    log_probabilities = torch.where(slot <= last[:, None], scores, -torch.inf).log_softmax(-1)
    cluster = _drawn(log_probabilities, generator)
    exists = seats.n_seated < queue.lengths
    log_probability = torch.where(exists, log_probabilities[rows, cluster], 0.0)
    taken = ((slot == cluster[:, None]) & exists[:, None])[..., None]  # (B, C, 1)
    after = Seats(
        torch.where(taken, seats.sums + own[:, None], seats.sums),
        torch.where(taken, joined, seats.clusters),
        torch.where(exists, torch.maximum(seats.n_clusters, cluster + 1), seats.n_clusters),
        seats.n_seated + 1,
    )
    return Seated(point, cluster, log_probability, exists, after)


def _drawn(log_probabilities: Tensor, generator: Generator | None) -> Tensor:
    """One slot of each set: (B, C) -> (B,)."""
    if generator is None:
        return log_probabilities.argmax(-1)
    ends = log_probabilities.exp().cumsum(-1)
    uniform = torch.rand(len(ends), 1, generator=generator, device=ends.device, dtype=ends.dtype)
    # Rounding may leave the ticket at the very end, behind the last slot that has a chance.
    drawn = torch.searchsorted(ends, uniform * ends[:, -1:], right=True)
    return torch.minimum(drawn, log_probabilities.isfinite().sum(-1, keepdim=True) - 1)[:, 0]


def seat_logits(log_probabilities: Tensor) -> Tensor:
    """The logits of probabilities, finite."""
    smallest = torch.finfo(log_probabilities.dtype).tiny
    others = (-torch.expm1(log_probabilities)).clamp_min(smallest).log()
    return (log_probabilities - others).clamp(-MOST_CERTAIN, MOST_CERTAIN)
