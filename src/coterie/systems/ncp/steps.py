"""The neural clustering process as a sequential system: each step seats one point."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.systems.items import ItemSystem
from coterie.systems.ncp.at_once import SeatedAtOnce
from coterie.systems.ncp.config import NCPConfig
from coterie.systems.ncp.cost import seconds_to_label, seconds_to_seat
from coterie.systems.ncp.network import SeatingNetwork
from coterie.systems.ncp.prefixes import Prefixes, log_probabilities, prefixes
from coterie.systems.ncp.seats import free_seats, line_up, seat_logits, seat_next
from coterie.systems.protocol import (
    MOST_CLUSTERS,
    Commit,
    State,
    everything_remains,
    nothing_left,
    require_labels,
)
from coterie.systems.traits import Traits


class NCP(ItemSystem):
    """Points are seated one after another, each at the cluster of an earlier one or a new one.

    The order is random, and so is the choice; without a generator points keep their order and take
    the most probable seat.
    """

    name = "ncp"
    config: NCPConfig

    def __init__(self, config: NCPConfig) -> None:
        super().__init__(config)
        self.network = SeatingNetwork(config)

    @property
    def traits(self) -> Traits:
        return replace(self.config.traits, frame=self.frame)

    @property
    def regions(self) -> tuple[tuple[Any, str], ...]:
        return (*self.encoder_regions, (self, "seat_log_probabilities"))

    def start(self, batch: SetBatch) -> State:
        return everything_remains(self.as_vectors(batch))

    def step_limit(self, batch: SetBatch) -> int:
        return batch.mask.shape[1]

    def step(self, state: State, generator: Generator | None = None) -> Commit:
        """Seat one point of every set; its h is the memory, so memories add up to sums."""
        if state.encoded is None:
            queue = line_up(self.network, state.batch, generator)
            seats = free_seats(self.network, queue)
        else:
            queue, seats = state.encoded
        seats = seats.with_slots(min(int(seats.n_clusters.max()) + 1, MOST_CLUSTERS))
        seated = seat_next(self.network, queue, seats, generator)
        rows = torch.arange(len(seated.point), device=seated.point.device)
        joined = torch.zeros_like(state.remaining)
        joined[rows, seated.point] = seated.exists
        certainty = seat_logits(seated.log_probability)[:, None]
        return Commit(
            joined,
            torch.where(joined, certainty, -torch.inf),
            (queue.own[rows, seated.point],),
            cluster=seated.cluster,
            log_probability=seated.log_probability,
            encoded=(queue, seated.seats),
        )

    def finished(self, state: State) -> Tensor:
        return nothing_left(state)

    def accelerated(self) -> SeatedAtOnce:
        """The same seats without a commit for each point, which would be O(N^2) of memory."""
        return SeatedAtOnce(self.network, self.as_vectors)

    def replay(self, points: Tensor, commits: Sequence[Commit]) -> Tensor:
        """How sure any point (B, M, D) is of the cluster that each step served: (B, M, S) logits.

        Given all that was seated in the end.
        """
        seats = self.seat(points, self.sums(commits))  # (B, M, K + 1)
        served = torch.stack([_served(commit) for commit in commits], -1)  # (B, S)
        index = served[:, None].expand(-1, points.shape[1], -1)
        return seat_logits(seats.gather(-1, index))

    def sums(self, commits: Sequence[Commit]) -> Tensor:
        """H of each cluster in the end: (B, K, P)."""
        served = torch.stack([_served(commit) for commit in commits], 1)  # (B, S)
        memory = torch.stack([commit.memory[0] for commit in commits], 1)  # (B, S, P)
        joined = torch.stack([commit.joined.any(1) for commit in commits], 1)
        memory = torch.where(joined[..., None], memory, 0.0)
        n_clusters = int(torch.where(joined, served, 0).max()) + 1
        served = torch.where(joined, served, 0)[..., None].expand_as(memory)
        sums = memory.new_zeros(len(memory), n_clusters, memory.shape[-1])
        return sums.scatter_add(1, served, memory)

    def seat(self, points: Tensor, sums: Tensor) -> Tensor:
        """Log-probabilities of the seats of one more point, when all others are seated.

        points: (B, M, D); sums: (B, K, P), H of each cluster. Returns (B, M, K + 1), a new cluster
        at last.
        """
        free = torch.nn.functional.pad(sums, (0, 0, 0, 1))[:, None]  # (B, 1, K + 1, P)
        clusters = torch.nn.functional.pad(self.network.cluster(sums), (0, 0, 0, 1))[:, None]
        own = self.network.seated_point(points)
        nobody = torch.zeros_like(own)
        return self.network.scores(free, own, clusters, nobody).log_softmax(-1)

    def seconds_to_seat(self, n_points: int, n_samples: int) -> float:
        return seconds_to_seat(self.network, n_points, n_samples)

    def seconds_to_label(self, n_points: int) -> float:
        return seconds_to_label(self.network, n_points)

    def set_loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        """The mean negative log-likelihood of a seat, in random order of the points."""
        labels, mask = require_labels(batch), batch.mask
        rank = torch.rand(mask.shape, generator=generator, device=mask.device)
        order = torch.where(mask, rank, 2.0).argsort(1)
        points = batch.points.gather(1, order[..., None].expand_as(batch.points))
        labels, mask = labels.gather(1, order), mask.gather(1, order)
        known = prefixes(labels, self.config.k_max)
        seats = self.seat_log_probabilities(points, labels, mask, known)
        return -torch.where(mask, seats, 0.0).sum() / mask.sum().clamp_min(1)

    def seat_log_probabilities(
        self, points: Tensor, labels: Tensor, mask: Tensor, at: Prefixes
    ) -> Tensor:
        """Log-probability of every seat of labelled sets, in the order of the points: (B, N)."""
        return log_probabilities(self.network, points, labels, mask, at)


def _served(commit: Commit) -> Tensor:
    """The cluster of a step of this system, which always names it: (B,)."""
    if commit.cluster is None:
        raise ValueError("a step of this system names its cluster, this one does not")
    return commit.cluster
