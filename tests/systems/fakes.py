"""Small systems without weights, one for each contract that no shipped system uses yet."""

from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn

from coterie.data.batch import SetBatch
from coterie.systems.protocol import (
    Commit,
    Memberships,
    State,
    everything_remains,
    nothing_left,
)
from coterie.systems.traits import Traits


class Halves(nn.Module):
    """A direct system: two clusters, on either side of the mean of the first column."""

    name = "halves"
    traits = Traits((2,), k_max=2)
    regions = ()

    def __init__(self, sharpness: float = 20.0) -> None:
        super().__init__()
        self.sharpness = sharpness

    def cluster(self, batch: SetBatch, generator: Generator | None = None) -> Memberships:
        weight = batch.mask.to(batch.points)
        middle = (batch.points[..., 0] * weight).sum(1, keepdim=True) / weight.sum(1, keepdim=True)
        return Memberships(self.read(batch.points, (middle,)), (middle,))

    def read(self, points: Tensor, memory: tuple[Tensor, ...]) -> Tensor:
        side = self.sharpness * (points[..., 0] - memory[0])  # (B, M)
        absent = torch.full_like(side, -torch.inf)  # a third cluster that no set has
        return torch.stack([-side, side, absent], -1).log_softmax(-1)

    def loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        return batch.points.sum()


class PointByPoint(nn.Module):
    """A pointwise system: each step draws the cluster of the first point that remains.

    A point joins the cluster of an earlier point in proportion to exp(-distance^2), or a new one in
    proportion to a constant.
    """

    name = "point-by-point"
    traits = Traits((2,))
    regions = ()
    new_cluster = -9.0  # log of its weight: three units away are another cluster

    def start(self, batch: SetBatch) -> State:
        return everything_remains(batch)

    def step_limit(self, batch: SetBatch) -> int:
        return batch.points.shape[1]

    def finished(self, state: State) -> Tensor:
        return nothing_left(state)

    def step(self, state: State, generator: Generator | None = None) -> Commit:
        points, n_sets = state.batch.points, len(state.remaining)
        chosen = state.remaining.to(torch.uint8).argmax(1)  # (B,)
        joined = torch.zeros_like(state.remaining)
        joined[torch.arange(n_sets), chosen] = state.remaining.any(1)
        here = points[torch.arange(n_sets), chosen]  # (B, D)
        weights = [torch.full((n_sets, n_sets), -torch.inf)[:, :0]]
        known = torch.zeros(n_sets, dtype=torch.int64)
        if state.commits:
            earlier = torch.stack([commit.memory[0] for commit in state.commits], 1)  # (B, S, D)
            clusters = torch.stack([commit.cluster for commit in state.commits], 1)  # (B, S)
            known = clusters.amax(1) + 1
            close = -(earlier - here[:, None]).square().sum(-1)
            each = torch.full((n_sets, int(known.max())), -torch.inf)
            weights = [each.scatter_reduce(1, clusters, close, "amax")]
        fresh = torch.full((n_sets, 1), self.new_cluster)
        table = torch.cat([*weights, fresh], 1)
        log_probabilities = table.log_softmax(1)
        drawn = torch.multinomial(log_probabilities.exp(), 1, generator=generator)[:, 0]
        log_probability = log_probabilities.gather(1, drawn[:, None])[:, 0]
        cluster = torch.where(drawn == table.shape[1] - 1, known, drawn)
        logits = torch.where(state.remaining, -torch.inf, -torch.inf)
        logits[joined] = log_probability[joined.any(1)]
        return Commit(joined, logits, (here,), cluster=cluster, log_probability=log_probability)

    def replay(self, points: Tensor, commits: Sequence[Commit]) -> Tensor:
        places = torch.stack([commit.memory[0] for commit in commits], 1)  # (B, S, D)
        square = (points[:, :, None] - places[:, None]).square().sum(-1)  # (B, M, S)
        return 4.0 - 4.0 * square

    def loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        return batch.points.sum()


class Brightness:
    """An encoder of images: the mean of the upper and of the lower half."""

    width = 2

    def __call__(self, items: Tensor) -> Tensor:
        upper, lower = items.flatten(2).chunk(2, -1)  # (M, C, H W / 2) each
        return torch.stack([upper.mean((1, 2)), lower.mean((1, 2))], -1)


class Pictures(PointByPoint):
    """The pointwise system in front of which an encoder turns images into vectors."""

    name = "pictures"
    traits = Traits((1, 4, 4))
    item_encoder = Brightness()
