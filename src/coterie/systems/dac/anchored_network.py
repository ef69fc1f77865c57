"""The filtering network of DAC with anchors (eq. 8; Lee, Lee, Teh 2019).

The blocks before the anchor are the same for every anchor, so any number of them can be asked about
side by side. Beyond eq. 8, where the configuration says so: points and anchor are compared by
products and by the cosine of their vectors, and the anchor is replaced by the mean of the points
that it claimed.

Shapes: B sets of N points (D), A anchors for each set, C the width, W the width behind the anchor.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, cast

import torch
from torch import Generator, Tensor, autocast, nn
from torch.nn.functional import normalize

from coterie.densities.heads import DensityHead
from coterie.densities.protocol import Density
from coterie.layers.mlp import mlp
from coterie.layers.set_blocks import ISAB, AnchorBlock
from coterie.systems.dac.config import DACConfig
from coterie.systems.dac.density_heads import columns_read, make_head

FIRST_SLOPE, FIRST_BIAS = 5.0, -5.0  # of the cosine: at first only points like the anchor join


class Encoded(NamedTuple):
    """The points of a set as all anchors see them.

    points: (B, N, C), H_X; unit: (B, N, D), the vectors of the points at unit length, empty
    without a comparison; promise: (B, N), logits of how well a point's cluster would be found.
    """

    points: Tensor
    unit: Tensor
    promise: Tensor


class Anchor(NamedTuple):
    """What points are compared with: its encoding (B, A, C) and its unit vector (B, A, D)."""

    point: Tensor
    unit: Tensor


class Guess(NamedTuple):
    """The cluster of each anchor: logits (B, A, N), and the slots of the blocks behind the anchor.

    The slots are those of B A sets, one for each anchor.
    """

    anchor: Anchor
    logits: Tensor
    slots: tuple[Tensor, ...]


class AnchoredNetwork(nn.Module):
    """Induced blocks, the anchor, further blocks, and heads for memberships and densities."""

    def __init__(self, config: DACConfig) -> None:
        super().__init__()
        self.config = config
        width, read = config.width, config.read_width or config.width
        widths = [columns_read(config)] + [width] * config.encoder_blocks
        self.encoder = _blocks(
            ISAB(before, after, config.heads, config.slots) for before, after in pairwise(widths)
        )
        encoded = widths[-1]
        self.condition = AnchorBlock(encoded, encoded, read, config.heads)
        # The slot of a middle block is H_theta; without a density that branch is left out (eq. 9).
        n_slots = [1] * (config.density is not None) + [config.slots] * config.decoder_blocks
        self.decoder = _blocks(ISAB(read, read, config.heads, n) for n in n_slots)
        self._head_name = f"{config.density}_head"
        self.add_module(self._head_name, make_head(config))
        self.membership_head = nn.Linear(read, 1)
        self.promise_head = mlp([encoded, read, 1])
        if config.comparison:
            self.of_point = nn.Linear(encoded, read)
            self.of_anchor = nn.Linear(encoded, read)
            self.of_cosine = nn.Linear(1, read, bias=False)
            looks = config.refinements + 1
            self.slope = nn.Parameter(torch.full((looks,), FIRST_SLOPE))
            self.offset = nn.Parameter(torch.full((looks,), FIRST_BIAS))
        if config.refinements:
            self.refine = mlp([2 * encoded + 1, width, encoded])
            self.norm_refined = nn.LayerNorm(encoded)

    def encode(self, points: Tensor, mask: Tensor) -> tuple[Encoded, tuple[Tensor, ...]]:
        """H_X = ISAB_L(X) of points (B, N, D), and the slots of its blocks."""
        slots, hidden = [], self._read_by_density(points)
        for block in self.encoder:
            slots.append(block.gather(hidden, mask))
            hidden = block.read(hidden, slots[-1])
        return self._encoded(points, hidden), tuple(slots)

    def view(self, points: Tensor, slots: Sequence[Tensor]) -> Encoded:
        """Any points (B, M, D) as the set that left these slots was encoded."""
        hidden = self._read_by_density(points)
        for block, slot in zip(self.encoder, slots, strict=True):
            hidden = block.read(hidden, slot)
        return self._encoded(points, hidden)

    def _read_by_density(self, points: Tensor) -> Tensor:
        """What the blocks read of each point: itself, or what its density's encoder makes of it."""
        head = self.density_head
        return points if head is None else head.encode(points)

    def _encoded(self, points: Tensor, hidden: Tensor) -> Encoded:
        unit = normalize(points, dim=-1) if self.config.comparison else points[..., :0]
        return Encoded(hidden, unit, self.promise_head(hidden)[..., 0])

    def guess(self, encoded: Encoded, remaining: Tensor, anchors: Tensor) -> list[Guess]:
        """The clusters of the anchors (B, A) among the points that remain (B, A, N), eq. 8.

        One guess for each look: the first from the anchor alone, later ones from the mean of the
        points that the one before claimed.
        """
        anchor = Anchor(_at(encoded.points, anchors), _at(encoded.unit, anchors))
        guesses = [self._look(encoded, remaining, anchor, 0)]
        for turn in range(1, self.config.refinements + 1):
            anchor = self._refined(encoded, remaining, guesses[-1])
            guesses.append(self._look(encoded, remaining, anchor, turn))
        return guesses

    def _look(self, encoded: Encoded, remaining: Tensor, anchor: Anchor, turn: int) -> Guess:
        cosine = _cosine(encoded, anchor)
        seen = self._conditioned(encoded, anchor, cosine).flatten(0, 1)  # (B A, N, W)
        slots = []
        for block in self.decoder:
            slots.append(block.gather(seen, remaining.flatten(0, 1)))
            seen = block.read(seen, slots[-1])
        logits = self._logits(seen.unflatten(0, remaining.shape[:2]), cosine, turn)
        return Guess(anchor, logits, tuple(slots))

    def read(self, encoded: Encoded, anchor: Anchor, slots: Sequence[Tensor]) -> Tensor:
        """Membership logits of encoded points in a step whose last look left this: (B, A, M)."""
        cosine = _cosine(encoded, anchor)
        seen = self._conditioned(encoded, anchor, cosine)
        shape = seen.shape[:2]
        seen = seen.flatten(0, 1)
        for block, slot in zip(self.decoder, slots, strict=True):
            seen = block.read(seen, slot)
        return self._logits(seen.unflatten(0, shape), cosine, self.config.refinements)

    def _conditioned(self, encoded: Encoded, anchor: Anchor, cosine: Tensor) -> Tensor:
        """H_X|a = MAB(H_X, h_a): (B, A, N, W)."""
        extra = None
        if self.config.comparison:
            product = self.of_point(encoded.points)[:, None]
            product = product * self.of_anchor(anchor.point)[:, :, None]
            extra = product + self.of_cosine(cosine[..., None].to(product))
        return self.condition(encoded.points, anchor.point, extra)

    def _logits(self, seen: Tensor, cosine: Tensor, turn: int) -> Tensor:
        logits: Tensor = self.membership_head(seen)[..., 0]
        if self.config.comparison:
            logits = logits.to(cosine) + self.slope[turn] * cosine + self.offset[turn]
        return logits

    def _refined(self, encoded: Encoded, remaining: Tensor, guess: Guess) -> Anchor:
        """The mean of the points that an anchor claimed, in its place."""
        weight = guess.logits.sigmoid() * remaining  # (B, A, N)
        mass = weight.sum(-1, keepdim=True)
        weight = (weight / (mass + 1e-3)).to(encoded.unit)
        share = mass / remaining.sum(-1, keepdim=True).clamp_min(1)
        seen = [guess.anchor.point, weight.to(encoded.points) @ encoded.points, _log(share)]
        point = self.norm_refined(guess.anchor.point + self.refine(torch.cat(seen, -1)))
        with autocast(encoded.unit.device.type, enabled=False):
            unit = normalize(weight @ encoded.unit, dim=-1)
        return Anchor(point, unit)

    @property
    def density_head(self) -> DensityHead | None:
        """The head of the cluster's density; None without a density."""
        return cast("DensityHead | None", self._modules[self._head_name])

    def density(self, slots: Sequence[Tensor]) -> Density | None:
        """The density of the clusters whose looks left these slots, if there is one."""
        head = self.density_head
        return None if head is None else head.density(slots[0][:, 0])

    def log_density(
        self, points: Tensor, slots: Sequence[Tensor], generator: Generator | None = None
    ) -> Tensor | None:
        """log p(x; theta) for the loss: points (B A, N, D) -> (B A, N); None without a density."""
        head = self.density_head
        return None if head is None else head.log_prob(slots[0][:, 0], points, generator)


def _blocks(blocks: object) -> Sequence[ISAB]:
    return cast("Sequence[ISAB]", nn.ModuleList(blocks))  # type: ignore[arg-type]


def _cosine(encoded: Encoded, anchor: Anchor) -> Tensor:
    """The cosines of the anchors' vectors and the points': (B, A, N), zero without a comparison.

    Not in bfloat16, whose third digit already decides who belongs to a cluster.
    """
    with autocast(encoded.unit.device.type, enabled=False):
        unit = encoded.unit
        return anchor.unit.to(unit) @ unit.transpose(1, 2)


def _at(values: Tensor, index: Tensor) -> Tensor:
    """The rows of an index: (B, N, C), (B, A) -> (B, A, C)."""
    return values.gather(1, index[..., None].expand(-1, -1, values.shape[-1]))


def _log(share: Tensor) -> Tensor:
    return share.clamp_min(1e-4).log()
