"""The networks of CHiGac: embeddings, pioneers (eq. 11), prior (eq. 12), decoder (eq. 13), encoder
(eq. 14).

Points are embedded once. What a step knows, the points without a cluster and the clusters so far,
is summarised in slots; pioneers, prior, decoder and encoder attend to these. Attention over points
is through slots alone, so everything is linear in the number of points.

Shapes: B sets of N points (D), A steps of each, side by side; C the width, Z the length of z, S
slots, H the width of the decision.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, relu

from coterie.layers.mlp import mlp
from coterie.layers.set_blocks import ISAB, MAB, PMA
from coterie.layers.waves import Waves
from coterie.systems.chigac.config import CHiGacConfig
from coterie.systems.chigac.posterior import Gaussian, GaussianHead

FIRST_SLOPE, FIRST_OFFSET = 1.0, -5.0  # of s: at first only points like z join


class Embedded(NamedTuple):
    """The points of a set: e (B, N, C), and the unit vectors that cosines compare (B, N, Z)."""

    points: Tensor
    unit: Tensor


class Known(NamedTuple):
    """What A steps know: the slots (B, A, S, C) of the points left and of the clusters so far.

    valid: (B, A, S) bool, None where all slots are.
    """

    slots: Tensor
    valid: Tensor | None = None

    def flat(self) -> tuple[Tensor, Tensor | None]:
        """The same of B A sets."""
        return self.slots.flatten(0, 1), None if self.valid is None else self.valid.flatten(0, 1)


class CHiGacNetwork(nn.Module):
    """All weights of the generative model and of the encoder."""

    def __init__(self, config: CHiGacConfig) -> None:
        super().__init__()
        self.config = config
        width, heads = config.width, config.heads
        seen = config.columns * (1 + 2 * config.frequencies)
        first = width if config.point_layers else seen
        parts: list[nn.Module] = [Waves(config.frequencies)] if config.frequencies else []
        if config.point_layers:  # whose output is small at first
            parts += [mlp([seen] + [width] * (config.point_layers + 1)), nn.LayerNorm(width)]
        self.of_point = nn.Sequential(*parts)
        blocks = nn.ModuleList(
            ISAB(before, after, heads, config.slots)
            for before, after in pairwise([first] + [width] * config.encoder_blocks)
        )
        self.blocks = cast("Sequence[ISAB]", blocks)
        embedded = width if config.encoder_blocks else first
        self.to_unit = nn.Linear(embedded, config.latent)
        self.pool_left = PMA(embedded, width, heads, config.slots)  # U_k
        self.pool_cluster = PMA(embedded, width, heads, config.cluster_slots)  # V_i
        self.seeds = nn.Parameter(nn.init.xavier_uniform_(torch.empty(config.prototypes, width)))
        self.choose = MAB(width, width, width, heads)
        self.to_prototype = nn.Linear(width, config.latent)
        self.expect = MAB(embedded, width, width, heads)
        self.prior_head = GaussianHead(width, config.latent, config.sigma)
        self.read = MAB(embedded, width, width, heads)
        self.of_read = nn.Linear(width, config.read_width)
        self.of_cosine = nn.Linear(1, config.read_width, bias=False)
        self.decide = nn.Linear(config.read_width, 1)
        self.slope = nn.Parameter(torch.full((), FIRST_SLOPE))
        self.offset = nn.Parameter(torch.full((), FIRST_OFFSET))
        self.recognise = MAB(embedded, width, width, heads)
        self.norm_members = nn.LayerNorm(embedded)
        self.of_members = mlp([embedded + width, width, width])
        self.posterior_head = GaussianHead(width, config.latent, config.sigma)

    def embed(self, points: Tensor, mask: Tensor) -> tuple[Embedded, tuple[Tensor, ...]]:
        """e of points (B, N, D), and the slots of the blocks, with which `view` embeds others."""
        slots, hidden = [], self.of_point(points)
        for block in self.blocks:
            slots.append(block.gather(hidden, mask))
            hidden = block.read(hidden, slots[-1])
        return self._embedded(hidden), tuple(slots)

    def view(self, points: Tensor, slots: Sequence[Tensor]) -> Embedded:
        """e of any points (B, M, D) as those of the set that left these slots."""
        hidden = self.of_point(points)
        for block, slot in zip(self.blocks, slots, strict=True):
            hidden = block.read(hidden, slot)
        return self._embedded(hidden)

    def _embedded(self, hidden: Tensor) -> Embedded:
        return Embedded(hidden, normalize(self.to_unit(hidden), dim=-1))

    def know(self, points: Tensor, left: Tensor, clusters: Tensor, found: Tensor | None) -> Known:
        """What steps know: e (B, N, C), left (B, A, N) bool, clusters (B, A, K, R, C).

        found: (B, A, K) bool, which of the clusters a step has found, None for all.
        """
        waiting = self.pool_left.of_groups(points, left)  # (B, A, S, C)
        slots = torch.cat([waiting, clusters.flatten(2, 3)], 2)
        if found is None:
            return Known(slots)
        each = found.repeat_interleave(clusters.shape[3], 2)
        return Known(slots, torch.cat([each.new_ones(waiting.shape[:3]), each], 2))

    def summarise(self, points: Tensor, members: Tensor) -> Tensor:
        """The slots of clusters: e (B, N, C), members (B, K, N) bool -> (B, K, R, C)."""
        return self.pool_cluster.of_groups(points, members)

    def pioneer_logits(self, embedded: Embedded, known: Known, number: Tensor) -> Tensor:
        """Eq. 11 for steps that are their set's number (A,): (B, A, N).

        The prototype of a step is a learnt vector that has attended to what the step knows; steps
        after the last learnt one share it and differ in what they know. The second term of eq. 11,
        the similarity of prototypes, is the same for all points, so the softmax is without it.
        """
        seeds = self.seeds[number.clamp_max(len(self.seeds) - 1)]  # (A, C)
        slots, valid = known.flat()
        n_sets = len(known.slots)
        queries = seeds.expand(n_sets, -1, -1).flatten(0, 1)[:, None]
        prototype = self.to_prototype(self.choose(queries, slots, valid)[:, 0])
        prototype = normalize(prototype, dim=-1).unflatten(0, (n_sets, -1))  # (B, A, Z)
        return prototype @ embedded.unit.transpose(1, 2) / self.config.temperature

    def prior(self, pioneer: Tensor, known: Known) -> Gaussian:
        """p(z | I, ...), eq. 12: e of the pioneers (B, A, C) -> over (B, A, Z)."""
        return self.prior_head(_attend(self.expect, pioneer, known))

    def posterior(
        self, points: Tensor, members: Tensor, pioneer: Tensor, clusters: Known
    ) -> Gaussian:
        """q(z | h, I, ...), eq. 14: members (B, A, N) bool, pioneers (B, A, C) -> over (B, A, Z).

        clusters: the slots of the clusters so far and of the members themselves.
        """
        inside = members.to(points)
        total = inside @ points / inside.sum(-1, keepdim=True).clamp_min(1).sqrt()
        seen = _attend(self.recognise, pioneer, clusters)
        hidden = self.of_members(torch.cat([self.norm_members(total), seen], -1))
        return self.posterior_head(hidden)

    def reading(self, points: Tensor, known: Known) -> Tensor:
        """The part of eq. 13 that no z changes: e (B, N, C) -> (B, A, N, H)."""
        slots, valid = known.flat()
        n_steps = known.slots.shape[1]
        each = points[:, None].expand(-1, n_steps, -1, -1).flatten(0, 1)
        return self.of_read(self.read(each, slots, valid)).unflatten(0, (-1, n_steps))

    def decode(self, unit: Tensor, reading: Tensor, z: Tensor) -> Tensor:
        """Membership logits, eq. 13, under M representations each.

        unit (B, N, Z), reading (B, A, N, H), z (B, A, M, Z) -> (B, A, M, N).
        """
        like = torch.einsum("bnz,bamz->bamn", unit, normalize(z, dim=-1)) / self.config.temperature
        hidden = relu(reading[:, :, None] + self.of_cosine(like[..., None]))
        return self.decide(hidden)[..., 0] + self.slope * like + self.offset


def _attend(block: MAB, queries: Tensor, known: Known) -> Tensor:
    """One query for each step: (B, A, C) -> (B, A, C)."""
    slots, valid = known.flat()
    attended: Tensor = block(queries.flatten(0, 1)[:, None], slots, valid)
    return attended[:, 0].unflatten(0, queries.shape[:2])
