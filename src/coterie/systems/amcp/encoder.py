"""The encoder of AMCP: points are mixed through learnt references, or through landmarks.

New points attend to the references exactly as the points of the set do. Walks and gaps between
landmarks are defined for the points of the set only, so with landmarks a new point takes the
encoding of its nearest neighbour in the set.

Shapes: B sets of N points in D columns, L landmarks, C channels.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from coterie.functional.diffusion import (
    Ground,
    Walks,
    n_landmark_features,
    n_scales,
    squared_distances,
    survey,
)
from coterie.layers.landmarks import LandmarkMixing
from coterie.layers.mixing import IntraCM
from coterie.layers.mlp import mlp
from coterie.layers.waves import Waves
from coterie.systems.amcp.config import AMCPConfig

FAR = 1e4  # the coordinate of padding, so that it is never a nearest neighbour


class Mixed(NamedTuple):
    """An encoded set, and the slots that new points read."""

    encoded: Tensor  # (B, N, C)
    slots: tuple[Tensor, ...]
    near: Tensor | None  # (B, N, L), the weight of each landmark for a point
    walks: Walks | None


class SetEncoder(nn.Module):
    """A perceptron for each point, then blocks of mixing: IntraCM, or landmarks."""

    def __init__(self, config: AMCPConfig) -> None:
        super().__init__()
        self.config = config
        width, columns = config.width, config.columns
        self.waves = Waves(config.frequencies)
        n_features = columns * (1 + 2 * config.frequencies)
        if config.landmarks:
            n_features += n_landmark_features(columns, config.leaps)
        self.embed = mlp([n_features, width, width, width], config.activation)
        self.blocks = nn.ModuleList(_block(config) for _ in range(config.encoder_blocks))
        self.norm = nn.LayerNorm(width)

    @property
    def n_slots(self) -> int:
        """The number of stored tensors from which new points are encoded."""
        return 3 if self.config.landmarks else len(self.blocks)

    def mix(self, points: Tensor, mask: Tensor) -> Mixed:
        """Mix the points of sets: points (B, N, D), mask (B, N)."""
        if self.config.landmarks:
            return self._mix_through_landmarks(points, mask)
        encoded, slots = self.embed(self.waves(points)), []
        for block in cast("Sequence[IntraCM]", self.blocks):
            slots.append(block.gather(encoded, mask))
            encoded = block.read(encoded, slots[-1])
        return Mixed(self.norm(encoded), tuple(slots), None, None)

    def read_slots(self, points: Tensor, slots: Sequence[Tensor]) -> tuple[Tensor, Tensor | None]:
        """Encode any points (B, M, D) from stored slots: (B, M, C), and their landmark weights."""
        if self.config.landmarks:
            return _as_the_nearest(points, *slots)
        encoded = self.embed(self.waves(points))
        for block, slot in zip(cast("Sequence[IntraCM]", self.blocks), slots, strict=True):
            encoded = block.read(encoded, slot)
        return self.norm(encoded), None

    def _mix_through_landmarks(self, points: Tensor, mask: Tensor) -> Mixed:
        chosen, ground, near, walks = survey(
            points, mask, self._n_landmarks(points.shape[1]), leaps=self.config.leaps
        )
        encoded = self._embed_beside(points, near, ground)
        chosen = chosen[..., None].expand(-1, -1, self.config.width)
        for block in cast("Sequence[LandmarkMixing]", self.blocks):
            messages = block.gather(encoded.gather(1, chosen), ground.there, walks.ends)
            encoded = block.read(encoded, messages, near)
        encoded = self.norm(encoded)
        kept = torch.where(mask[..., None], points, FAR)
        return Mixed(encoded, (kept, encoded, near), near, walks)

    def _embed_beside(self, points: Tensor, near: Tensor, ground: Ground) -> Tensor:
        """Points (B, N, D) with the features of the landmarks near them: (B, N, C)."""
        embedded: Tensor = self.embed(torch.cat([self.waves(points), near @ ground.features], -1))
        return embedded

    def _n_landmarks(self, n_points: int) -> int:
        """At most one for each point; an exported graph has a fixed number."""
        if torch.compiler.is_exporting():
            return self.config.landmarks
        return min(self.config.landmarks, n_points)


def _as_the_nearest(
    points: Tensor, kept: Tensor, encoded: Tensor, near: Tensor
) -> tuple[Tensor, Tensor]:
    """The encoding of the nearest stored point (B, N, D): (B, M, C), (B, M, L)."""
    if torch.equal(points, kept):  # the set itself, the common case
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
