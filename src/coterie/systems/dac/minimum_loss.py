"""Deep amortized clustering (DAC, section 3; Lee, Lee, Teh 2019).

Minimum-loss filtering is in this file, anchored filtering in `anchored.py`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch, compact
from coterie.densities.protocol import Density
from coterie.functional.matching import cluster_mean, membership_loss, minimum_over_clusters
from coterie.functional.partitions import claim
from coterie.functional.reduce import count_points
from coterie.systems.dac.anchored import anchored_loss, anchored_step, replay_anchored
from coterie.systems.dac.anchored_network import AnchoredNetwork
from coterie.systems.dac.config import DACConfig
from coterie.systems.dac.network import FilteringNetwork
from coterie.systems.items import ItemSystem
from coterie.systems.protocol import (
    MOST_CLUSTERS,
    Commit,
    State,
    everything_remains,
    nothing_left,
    require_labels,
)
from coterie.systems.traits import Traits


class DAC(ItemSystem):
    """The filtering network as a sequential system: one cluster a step."""

    name = "dac"
    config: DACConfig

    def __init__(self, config: DACConfig) -> None:
        super().__init__(config)
        anchored = config.filtering == "anchored"
        self.network = AnchoredNetwork(config) if anchored else FilteringNetwork(config)

    @property
    def traits(self) -> Traits:
        return replace(self.config.traits, frame=self.frame)

    @property
    def regions(self) -> tuple[tuple[Any, str], ...]:
        head = self.network.density_head
        parts: tuple[tuple[Any, str], ...] = () if head is None else head.regions
        if isinstance(self.network, AnchoredNetwork):
            parts = ((self.network, "guess"), (self.network, "encode"), *parts)
        elif parts or self.item_encoder is not None:
            parts = ((self.network, "filter"), *parts)
        else:
            return ((self, "loss"),)
        return (*self.encoder_regions, *parts)

    def start(self, batch: SetBatch) -> State:
        return everything_remains(self.as_vectors(batch))

    def step_limit(self, batch: SetBatch) -> int:
        # A single point left over may take a step of its own.
        return max(MOST_CLUSTERS, 2 * self.config.k_max)

    def step(self, state: State, generator: Generator | None = None) -> Commit:
        if isinstance(self.network, AnchoredNetwork):
            return anchored_step(self.network, state, generator)
        left = compact(state.remaining)
        found, memory = self.network.filter(left.take(state.batch.points), left.mask)
        logits = left.scatter(found)
        too_many = self.config.min_share * count_points(state.batch.mask)
        joined = claim(logits, state.remaining, too_many)
        return Commit(joined, logits, memory, density=self.network.density(memory))

    def finished(self, state: State) -> Tensor:
        return nothing_left(state)

    def replay(self, points: Tensor, commits: Sequence[Commit]) -> Tensor:
        if isinstance(self.network, AnchoredNetwork):
            return replay_anchored(self.network, points, commits)
        return torch.cat([self.network.read(points, commit.memory) for commit in commits], -1)

    def density(self, commit: Commit) -> Density | None:
        """The density of the cluster of a commit."""
        if isinstance(self.network, AnchoredNetwork):
            return self.network.density(commit.memory[len(self.network.encoder) + 2 :])
        return self.network.density(commit.memory)

    def set_loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        """Minimum-loss filtering, eq. 5 (eq. 9 without a density), averaged over the sets.

        Of anchored filtering it is eq. 7 instead.
        """
        if isinstance(self.network, AnchoredNetwork):
            return anchored_loss(self.network, batch, generator)
        labels, k_max = require_labels(batch), self.config.k_max
        logits, memory = self.network.filter(batch.points, batch.mask)
        losses = membership_loss(logits, labels, batch.mask, k_max)
        log_density = self.network.log_density(batch.points, memory, generator)
        if log_density is not None:
            losses = losses - cluster_mean(log_density, labels, batch.mask, k_max)
        return minimum_over_clusters(losses, labels, batch.mask).mean()
