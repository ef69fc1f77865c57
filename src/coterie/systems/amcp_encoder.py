"""How AMCP encodes a set: its points are mixed through learnt references, or through landmarks.

Shapes: B sets of N points in D columns, L landmarks, C channels.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from coterie.functional.diffusion import N_SCALES, Ground, Walks, n_news, reach, survey
from coterie.layers.landmarks import LandmarkMixing
from coterie.layers.mixing import IntraCM
from coterie.layers.mlp import mlp
from coterie.layers.waves import Waves
from coterie.systems.amcp_config import AMCPConfig


class Mixed(NamedTuple):
    """A set in the light of its own points, and what further points read of it."""

    encoded: Tensor  # (B, N, C)
    slots: tuple[Tensor, ...]
    near: Tensor | None  # (B, N, L), how much a point is at each landmark
    walks: Walks | None


class AMCPEncoder(nn.Module):
    """Points one by one, then several blocks of mixing: IntraCM, where there are no landmarks."""

    def __init__(self, config: AMCPConfig) -> None:
        super().__init__()
        self.config = config
        width, columns = config.width, config.columns
        self.waves = Waves(config.frequencies)
        told = n_news(columns) if config.landmarks else 0
        seen = columns * (1 + 2 * config.frequencies) + told
        self.embed = mlp([seen, width, width, width], config.activation)
        self.encoder = nn.ModuleList(_block(config) for _ in range(config.encoder_blocks))
        self.norm_encoded = nn.LayerNorm(width)

    @property
    def n_slots(self) -> int:
        """How many tensors of an encoding any further point reads."""
        return len(self.encoder) + (len(Ground._fields) if self.config.landmarks else 0)

    def mix(self, points: Tensor, mask: Tensor) -> Mixed:
        """Mix the points of sets: points (B, N, D), mask (B, N)."""
        if self.config.landmarks:
            return self._mix_through_landmarks(points, mask)
        encoded, slots = self.embed(self.waves(points)), []
        for block in cast("Sequence[IntraCM]", self.encoder):
            slots.append(block.gather(encoded, mask))
            encoded = block.read(encoded, slots[-1])
        return Mixed(self.norm_encoded(encoded), tuple(slots), None, None)

    def read_slots(self, points: Tensor, slots: Sequence[Tensor]) -> tuple[Tensor, Tensor | None]:
        """Any points (B, M, D) in the light of slots that were kept: (B, M, C), and their near."""
        if self.config.landmarks:
            return self._read_landmarks(points, slots)
        encoded = self.embed(self.waves(points))
        for block, slot in zip(cast("Sequence[IntraCM]", self.encoder), slots, strict=True):
            encoded = block.read(encoded, slot)
        return self.norm_encoded(encoded), None

    def _mix_through_landmarks(self, points: Tensor, mask: Tensor) -> Mixed:
        chosen, ground, near, walks = survey(points, mask, self._n_landmarks(points.shape[1]))
        encoded, slots = self._embed_beside(points, near, ground), []
        chosen = chosen[..., None].expand(-1, -1, self.config.width)
        for block in cast("Sequence[LandmarkMixing]", self.encoder):
            slots.append(block.gather(encoded.gather(1, chosen), ground.there, walks.ends))
            encoded = block.read(encoded, slots[-1], near)
        return Mixed(self.norm_encoded(encoded), (*ground, *slots), near, walks)

    def _read_landmarks(self, points: Tensor, slots: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        n_ground = len(Ground._fields)
        ground, slots = Ground(*slots[:n_ground]), slots[n_ground:]
        near = reach(points, ground)
        encoded = self._embed_beside(points, near, ground)
        for block, slot in zip(cast("Sequence[LandmarkMixing]", self.encoder), slots, strict=True):
            encoded = block.read(encoded, slot, near)
        return self.norm_encoded(encoded), near

    def _embed_beside(self, points: Tensor, near: Tensor, ground: Ground) -> Tensor:
        """Points (B, N, D) one by one, with what the landmarks near them tell: (B, N, C)."""
        embedded: Tensor = self.embed(torch.cat([self.waves(points), near @ ground.news], -1))
        return embedded

    def _n_landmarks(self, n_points: int) -> int:
        """As many as are wanted, or as there are points; an exported graph takes any number."""
        if torch.compiler.is_exporting():
            return self.config.landmarks
        return min(self.config.landmarks, n_points)


def _block(config: AMCPConfig) -> nn.Module:
    if config.landmarks:
        return LandmarkMixing(config.width, config.heads, N_SCALES, config.activation)
    return IntraCM(
        config.width,
        config.heads,
        config.references,
        config.em_steps,
        config.e_step,
        config.activation,
    )
