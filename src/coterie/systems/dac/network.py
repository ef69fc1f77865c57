"""The filtering network of DAC (eq. 6; Lee, Lee, Teh 2019).

It is one stack of induced blocks. The middle block has a single slot: that slot is
H_theta = PMA_1(H_X), and reading it is MAB(H_X, H_theta).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

from torch import Generator, Tensor, nn

from coterie.densities.heads import DensityHead
from coterie.densities.protocol import Density
from coterie.layers.set_blocks import ISAB
from coterie.systems.dac.config import DACConfig
from coterie.systems.dac.density_heads import columns_read, make_head


class FilteringNetwork(nn.Module):
    """Induced blocks, a head for memberships and one for the density of the cluster, if any."""

    def __init__(self, config: DACConfig) -> None:
        super().__init__()
        self.config = config
        slots = (
            [config.slots] * config.encoder_blocks + [1] + [config.slots] * config.decoder_blocks
        )
        widths = [columns_read(config)] + [config.width] * len(slots)
        blocks = nn.ModuleList(
            ISAB(before, after, config.heads, n)
            for (before, after), n in zip(pairwise(widths), slots, strict=True)
        )
        self.blocks = cast("Sequence[ISAB]", blocks)
        # Weights files name the head by its density: gaussian_head, maf_head, ...
        self._head_name = f"{config.density}_head"
        self.add_module(self._head_name, make_head(config))
        self.membership_head = nn.Linear(config.width, 1)

    def filter(self, points: Tensor, remaining: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """One filtering step, eq. 6: (B, N, D), (B, N) -> logits (B, N) and the blocks' slots."""
        memory, points = [], self.encode(points)
        for block in self.blocks:
            slots = block.gather(points, remaining)
            points = block.read(points, slots)
            memory.append(slots)
        return self.membership_head(points)[..., 0], tuple(memory)

    def read(self, points: Tensor, memory: tuple[Tensor, ...]) -> Tensor:
        """Membership logits of any points (B, M, D) in a step that left these slots: (B, M, 1)."""
        points = self.encode(points)
        for block, slots in zip(self.blocks, memory, strict=True):
            points = block.read(points, slots)
        logits: Tensor = self.membership_head(points)
        return logits

    @property
    def density_head(self) -> DensityHead | None:
        """The head of the cluster's density; None without a density."""
        return cast("DensityHead | None", self._modules[self._head_name])

    def encode(self, points: Tensor) -> Tensor:
        """What the blocks read of each point: (B, N, D) -> (B, N, C), by the density's encoder."""
        head = self.density_head
        return points if head is None else head.encode(points)

    def density(self, memory: tuple[Tensor, ...]) -> Density | None:
        """p(x; theta), theta = rFF(H_theta): the density of the cluster found, if there is one."""
        head = self.density_head
        return None if head is None else head.density(self.cluster(memory))

    def log_density(
        self, points: Tensor, memory: tuple[Tensor, ...], generator: Generator | None = None
    ) -> Tensor | None:
        """log p(x; theta) for the loss, or a lower bound: (B, N, D) -> (B, N); None without."""
        head = self.density_head
        return None if head is None else head.log_prob(self.cluster(memory), points, generator)

    def cluster(self, memory: tuple[Tensor, ...]) -> Tensor:
        """H_theta, the vector of the cluster that a step found: (B, C)."""
        return memory[self.config.encoder_blocks][:, 0]
