"""How AMCP encodes a set: its points are mixed through learnt references, or through landmarks.

A further point reads the references as those of the set did. Landmarks it does not read: walks and
gaps are between the points of the set, so it is taken for the nearest of these.

Shapes: B sets of N points in D columns, L landmarks, C channels.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from coterie.functional.diffusion import (
    Ground,
    Walks,
    n_news,
    n_scales,
    squared_distances,
    survey,
)
from coterie.layers.landmarks import LandmarkMixing
from coterie.layers.mixing import IntraCM
from coterie.layers.mlp import mlp
from coterie.layers.waves import Waves
from coterie.systems.amcp.config import AMCPConfig

FAR = 1e4  # where padding is kept, so that it is nearest to nobody


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
        told = n_news(columns, config.leaps) if config.landmarks else 0
        seen = columns * (1 + 2 * config.frequencies) + told
        self.embed = mlp([seen, width, width, width], config.activation)
        self.encoder = nn.ModuleList(_block(config) for _ in range(config.encoder_blocks))
        self.norm_encoded = nn.LayerNorm(width)

    @property
    def n_slots(self) -> int:
        """How many tensors of an encoding any further point reads."""
        return 3 if self.config.landmarks else len(self.encoder)

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
            return _as_the_nearest(points, *slots)
        encoded = self.embed(self.waves(points))
        for block, slot in zip(cast("Sequence[IntraCM]", self.encoder), slots, strict=True):
            encoded = block.read(encoded, slot)
        return self.norm_encoded(encoded), None

    def _mix_through_landmarks(self, points: Tensor, mask: Tensor) -> Mixed:
        chosen, ground, near, walks = survey(
            points, mask, self._n_landmarks(points.shape[1]), leaps=self.config.leaps
        )
        encoded = self._embed_beside(points, near, ground)
        chosen = chosen[..., None].expand(-1, -1, self.config.width)
        for block in cast("Sequence[LandmarkMixing]", self.encoder):
            told = block.gather(encoded.gather(1, chosen), ground.there, walks.ends)
            encoded = block.read(encoded, told, near)
        encoded = self.norm_encoded(encoded)
        kept = torch.where(mask[..., None], points, FAR)
        return Mixed(encoded, (kept, encoded, near), near, walks)

    def _embed_beside(self, points: Tensor, near: Tensor, ground: Ground) -> Tensor:
        """Points (B, N, D) one by one, with what the landmarks near them tell: (B, N, C)."""
        embedded: Tensor = self.embed(torch.cat([self.waves(points), near @ ground.news], -1))
        return embedded

    def _n_landmarks(self, n_points: int) -> int:
        """As many as are wanted, or as there are points; an exported graph takes any number."""
        if torch.compiler.is_exporting():
            return self.config.landmarks
        return min(self.config.landmarks, n_points)


def _as_the_nearest(
    points: Tensor, kept: Tensor, encoded: Tensor, near: Tensor
) -> tuple[Tensor, Tensor]:
    """What is known of the nearest of points that were kept (B, N, D): (B, M, C), (B, M, L)."""
    if torch.equal(points, kept):  # who asks about the set itself, as nearly all do
        return encoded, near
    nearest = squared_distances(points, kept).argmin(2, keepdim=True)

    def of_nearest(known: Tensor) -> Tensor:
        return known.gather(1, nearest.expand(-1, -1, known.shape[2]))

    return of_nearest(encoded), of_nearest(near)


def _block(config: AMCPConfig) -> nn.Module:
    if config.landmarks:
        return LandmarkMixing(config.width, config.heads, n_scales(config.leaps), config.activation)
    return IntraCM(
        config.width,
        config.heads,
        config.references,
        config.em_steps,
        config.e_step,
        config.activation,
    )
