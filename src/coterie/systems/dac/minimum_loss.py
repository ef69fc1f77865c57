"""Deep amortized clustering with minimum-loss filtering (DAC, section 3; Lee, Lee, Teh 2019).

The filtering network of eq. 6 is one stack of induced blocks. Its middle block has a single slot:
that slot is H_theta = PMA_1(H_X), and reading it is MAB(H_X, H_theta).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import torch
from torch import Generator, Tensor, nn

from coterie.data.batch import SetBatch, compact
from coterie.functional.em import Gaussians, gaussian_log_density
from coterie.functional.matching import cluster_mean, membership_loss, minimum_over_clusters
from coterie.functional.partitions import claim
from coterie.layers.set_blocks import ISAB
from coterie.systems.dac.config import DACConfig
from coterie.systems.protocol import (
    Commit,
    State,
    everything_remains,
    nothing_left,
    require_labels,
)


class DAC(nn.Module):
    """The filtering network of eq. 6 with diagonal-Gaussian clusters."""

    name = "dac"
    regions = ("loss",)

    def __init__(self, config: DACConfig) -> None:
        super().__init__()
        self.config = config
        slots = (
            [config.slots] * config.encoder_blocks + [1] + [config.slots] * config.decoder_blocks
        )
        widths = [config.columns] + [config.width] * len(slots)
        blocks = nn.ModuleList(
            ISAB(before, after, config.heads, n)
            for (before, after), n in zip(pairwise(widths), slots, strict=True)
        )
        self.blocks = cast("Sequence[ISAB]", blocks)
        self.gaussian_head = nn.Linear(config.width, 2 * config.columns)
        self.membership_head = nn.Linear(config.width, 1)

    def start(self, batch: SetBatch) -> State:
        return everything_remains(batch)

    def step(self, state: State, generator: Generator | None = None) -> Commit:
        left = compact(state.remaining)
        found, memory = self.filter(left.take(state.batch.points), left.mask)
        logits = left.scatter(found)
        too_many = self.config.min_share * state.batch.mask.sum(1)
        joined = claim(logits, state.remaining, too_many)
        return Commit(joined, logits, memory, self.gaussian(memory))

    def finished(self, state: State) -> Tensor:
        return nothing_left(state)

    def filter(self, points: Tensor, remaining: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """One filtering step, eq. 6: (B, N, D), (B, N) -> logits (B, N) and the blocks' slots."""
        memory = []
        for block in self.blocks:
            slots = block.gather(points, remaining)
            points = block.read(points, slots)
            memory.append(slots)
        return self.membership_head(points)[..., 0], tuple(memory)

    def replay(self, points: Tensor, commits: Sequence[Commit]) -> Tensor:
        return torch.cat([self._replay(points, commit) for commit in commits], -1)

    def _replay(self, points: Tensor, commit: Commit) -> Tensor:
        for block, slots in zip(self.blocks, commit.memory, strict=True):
            points = block.read(points, slots)
        logits: Tensor = self.membership_head(points)
        return logits

    def gaussian(self, memory: tuple[Tensor, ...]) -> Gaussians:
        """theta = rFF(H_theta): the parameters of the cluster found, one per set."""
        cluster = memory[self.config.encoder_blocks]  # (B, 1, C)
        mean, log_scale = self.gaussian_head(cluster).chunk(2, -1)
        return Gaussians(mean.new_zeros(mean.shape[:2]), mean, log_scale.clamp(-6.0, 4.0))

    def loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        """Minimum-loss filtering, eq. 5, averaged over the sets."""
        labels, k_max = require_labels(batch), self.config.k_max
        logits, memory = self.filter(batch.points, batch.mask)
        _, mean, log_scale = self.gaussian(memory)
        density = gaussian_log_density(batch.points, mean, log_scale)[..., 0]
        losses = membership_loss(logits, labels, batch.mask, k_max)
        losses = losses - cluster_mean(density, labels, batch.mask, k_max)
        return minimum_over_clusters(losses, labels, batch.mask).mean()
