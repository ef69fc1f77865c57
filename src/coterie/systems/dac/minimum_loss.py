"""Deep amortized clustering with minimum-loss filtering (DAC, section 3; Lee, Lee, Teh 2019)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Generator, Tensor, nn

from coterie.data.batch import SetBatch, compact
from coterie.densities.protocol import Density
from coterie.frames.protocol import FrameKind
from coterie.functional.matching import cluster_mean, membership_loss, minimum_over_clusters
from coterie.functional.partitions import claim
from coterie.functional.reduce import count_points
from coterie.systems.dac.config import DACConfig
from coterie.systems.dac.network import FilteringNetwork
from coterie.systems.protocol import (
    MOST_CLUSTERS,
    Commit,
    State,
    everything_remains,
    nothing_left,
    require_labels,
)
from coterie.systems.traits import Traits


class DAC(nn.Module):
    """The filtering network as a sequential system: one cluster a step."""

    name = "dac"
    frame: FrameKind = "plain"  # that of training

    def __init__(self, config: DACConfig) -> None:
        super().__init__()
        self.config = config
        self.network = FilteringNetwork(config)

    @property
    def traits(self) -> Traits:
        return replace(self.config.traits, frame=self.frame)

    @property
    def regions(self) -> tuple[tuple[Any, str], ...]:
        head = self.network.density_head
        if head is None or not head.regions:
            return ((self, "loss"),)
        return ((self.network, "filter"), *head.regions)

    def start(self, batch: SetBatch) -> State:
        return everything_remains(batch)

    def step_limit(self, batch: SetBatch) -> int:
        return MOST_CLUSTERS

    def step(self, state: State, generator: Generator | None = None) -> Commit:
        left = compact(state.remaining)
        found, memory = self.network.filter(left.take(state.batch.points), left.mask)
        logits = left.scatter(found)
        too_many = self.config.min_share * count_points(state.batch.mask)
        joined = claim(logits, state.remaining, too_many)
        return Commit(joined, logits, memory, density=self.network.density(memory))

    def finished(self, state: State) -> Tensor:
        return nothing_left(state)

    def replay(self, points: Tensor, commits: Sequence[Commit]) -> Tensor:
        return torch.cat([self.network.read(points, commit.memory) for commit in commits], -1)

    def density(self, commit: Commit) -> Density | None:
        """The density of the cluster of a commit."""
        return self.network.density(commit.memory)

    def loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        """Minimum-loss filtering, eq. 5 (eq. 9 without a density), averaged over the sets."""
        labels, k_max = require_labels(batch), self.config.k_max
        logits, memory = self.network.filter(batch.points, batch.mask)
        losses = membership_loss(logits, labels, batch.mask, k_max)
        log_density = self.network.log_density(batch.points, memory, generator)
        if log_density is not None:
            losses = losses - cluster_mean(log_density, labels, batch.mask, k_max)
        return minimum_over_clusters(losses, labels, batch.mask).mean()
