"""All points seated in one step of the loop, then handed out cluster by cluster.

The seats are those of the system's own steps. A commit of one point holds two values for every
point of its set, so N of them would take O(N^2) of memory; here there are K commits.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.systems.ncp.network import SeatingNetwork
from coterie.systems.ncp.seats import free_seats, line_up, seat_logits, seat_next
from coterie.systems.protocol import (
    MOST_CLUSTERS,
    Commit,
    State,
    everything_remains,
    nothing_left,
)

# Looking up the number of clusters synchronises a GPU, so it is done every so many points, with as
# many slots to spare.
LOOK_UP_EVERY = 16


class Seating(NamedTuple):
    """Everybody has a seat.

    labels: (B, N), -1 for padding; log_probabilities: (B, N), of each seat when it was taken;
    sums: H of the clusters, (B, C, P).
    """

    labels: Tensor
    log_probabilities: Tensor
    sums: Tensor


def seat_all(network: SeatingNetwork, batch: SetBatch, generator: Generator | None) -> Seating:
    """Seat the points of every set, one after another."""
    queue = line_up(network, batch, generator)
    seats = free_seats(network, queue)
    every = LOOK_UP_EVERY if queue.order.is_cuda else 1
    labels = torch.full(batch.mask.shape, -1, device=queue.order.device)
    log_probabilities = queue.own.new_zeros(batch.mask.shape)
    for number in range(int(queue.lengths.max())):
        if number % every == 0:
            needed = min(int(seats.n_clusters.max()) + every, MOST_CLUSTERS)
            seats = seats.with_slots(needed)
        seated = seat_next(network, queue, seats, generator)
        seats, point = seated.seats, seated.point[:, None]
        # A set that is finished repeats one of its padded points, whose label is not touched.
        cluster = torch.where(seated.exists, seated.cluster, -1)
        labels.scatter_(1, point, cluster[:, None])
        log_probabilities.scatter_(1, point, seated.log_probability[:, None])
    if not bool(log_probabilities.isfinite().all()):  # of weights that are finite, but too large
        raise ValueError("the network's scores are not finite: its weights are damaged")
    return Seating(labels, log_probabilities, seats.sums)


class SeatedAtOnce:
    """The steps of an NCP with all points of a cluster in one commit."""

    def __init__(self, network: SeatingNetwork, as_vectors: Callable[[SetBatch], SetBatch]) -> None:
        self.network, self.as_vectors = network, as_vectors

    def start(self, batch: SetBatch) -> State:
        return everything_remains(self.as_vectors(batch))

    def finished(self, state: State) -> Tensor:
        return nothing_left(state)

    def step(self, state: State, generator: Generator | None = None) -> Commit:
        """The next cluster, in order of appearance; its memory is H."""
        seating: Seating = state.encoded
        if seating is None:
            seating = seat_all(self.network, state.batch, generator)
        number = len(state.commits)
        joined = seating.labels == number
        return Commit(
            joined,
            torch.where(joined, seat_logits(seating.log_probabilities), -torch.inf),
            (seating.sums[:, number],),
            cluster=torch.full_like(seating.labels[:, 0], number),
            log_probability=torch.where(joined, seating.log_probabilities, 0.0).sum(1),
            encoded=seating,
        )
