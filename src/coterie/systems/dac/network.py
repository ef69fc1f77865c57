"""The filtering network of DAC (eq. 6; Lee, Lee, Teh 2019).

It is one stack of induced blocks. The middle block has a single slot: that slot is
H_theta = PMA_1(H_X), and reading it is MAB(H_X, H_theta).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

from torch import Tensor, nn

from coterie.densities.gaussian import DiagonalGaussian
from coterie.layers.set_blocks import ISAB
from coterie.systems.dac.config import DACConfig


class FilteringNetwork(nn.Module):
    """Induced blocks, a head for memberships and one for the parameters of the cluster."""

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

    def filter(self, points: Tensor, remaining: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """One filtering step, eq. 6: (B, N, D), (B, N) -> logits (B, N) and the blocks' slots."""
        memory = []
        for block in self.blocks:
            slots = block.gather(points, remaining)
            points = block.read(points, slots)
            memory.append(slots)
        return self.membership_head(points)[..., 0], tuple(memory)

    def read(self, points: Tensor, memory: tuple[Tensor, ...]) -> Tensor:
        """Membership logits of any points (B, M, D) in a step that left these slots: (B, M, 1)."""
        for block, slots in zip(self.blocks, memory, strict=True):
            points = block.read(points, slots)
        logits: Tensor = self.membership_head(points)
        return logits

    def density(self, memory: tuple[Tensor, ...]) -> DiagonalGaussian:
        """theta = rFF(H_theta): the density of the cluster found."""
        cluster = memory[self.config.encoder_blocks][:, 0]  # (B, C)
        mean, log_scale = self.gaussian_head(cluster).chunk(2, -1)
        return DiagonalGaussian(mean, log_scale.clamp(-6.0, 4.0))
