"""The network of AMCP (Liu, Jing 2022): points are mixed, coupled with what was found, read out.

IntraCM is the paper's appendix B; the proposal, its refinements, the narrow read-out and the form
of the coupling are this project's own.

Shapes: B sets of N points; A clusters are asked for at the same time, one in a step of the loop,
several in training.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from coterie.functional.em import Gaussians, gaussian_log_density, map_moments
from coterie.functional.mixing import E_STEPS, EStep
from coterie.functional.reduce import (
    all_points_max,
    all_points_sum,
    count_points,
    masked_softmax,
)
from coterie.layers.mixing import IntraCM
from coterie.layers.mlp import mlp

Proposal = Literal["seed", "anchor"]


@dataclass(frozen=True)
class AMCPConfig:
    """Shape of the network, how it mixes, and how it is taught.

    encode_every: after how many clusters the points that remain are encoded anew, 0 for one
    encoding for all clusters; decoder_blocks: mixing under the light of a proposed cluster;
    proposal: where the next cluster comes from, a learnt seed (any cluster, the easiest counts) or
    a point, the anchor (its own cluster; the network says which points promise well);
    coupling: whether finished clusters condition the next proposal (InterCC); density: whether a
    cluster has a mean and a scale, or is whatever its members have in common; cluster_scale: the
    scale of the imaginary point that steadies a cluster's moments; questions: how many clusters of
    a training set are asked for, one after another from the seed, at once from anchors.
    """

    columns: int = 2
    width: int = 128
    heads: int = 4
    references: int = 32
    em_steps: int = 3
    e_step: EStep = "column"
    encoder_blocks: int = 2
    decoder_blocks: int = 1
    read_width: int = 128
    refinements: int = 2
    encode_every: int = 1
    proposal: Proposal = "seed"
    coupling: bool = False
    density: Literal["gaussian", "none"] = "gaussian"
    cluster_scale: float = 0.25
    k_max: int = 4
    questions: int = 1
    min_share: float = 0.002

    def __post_init__(self) -> None:
        if self.e_step not in E_STEPS:
            raise ValueError(f"e_step must be one of {', '.join(E_STEPS)}, got {self.e_step!r}")
        if self.density not in ("gaussian", "none"):
            raise ValueError(f"density must be gaussian or none, got {self.density!r}")
        if self.proposal not in ("seed", "anchor"):
            raise ValueError(f"proposal must be seed or anchor, got {self.proposal!r}")
        if self.width % self.heads or self.read_width % self.heads:
            raise ValueError(f"{self.heads} heads must divide width and read_width")
        if self.coupling and self.proposal == "seed" and self.questions < 2:
            raise ValueError("coupling is learnt over several steps: questions must be 2 or more")
        if self.encode_every < 0:
            raise ValueError(f"encode_every must be 0 or more, got {self.encode_every}")
        if self.questions < 1:
            raise ValueError(f"questions must be 1 or more, got {self.questions}")


class Features(NamedTuple):
    """What a step reads of each point: its place, and narrow maps of its encoding."""

    points: Tensor  # (B, N, D), of no columns where clusters have no density
    score: Tensor  # (B, N, W), for the memberships
    pool: Tensor  # (B, N, W), for the sums over points
    key: Tensor  # (B, N, W), for the proposal
    promise: Tensor  # (B, N, 1), logit of how well a cluster found from this anchor will fit


class Belief(NamedTuple):
    """A cluster as the network sees it at some moment of a step."""

    phi: Tensor  # (B, A, C)
    mean: Tensor  # (B, A, D)
    log_scale: Tensor  # (B, A, D)


class Guess(NamedTuple):
    """A belief and the memberships (B, A, N) that follow from it."""

    logits: Tensor
    belief: Belief


class Question(NamedTuple):
    """What a cluster is asked for: who is left, who was found, and where to look first."""

    remaining: Tensor  # (B, A, N)
    n_points: Tensor  # (B,), in all
    finished: Tensor  # (B, A, C), the sum of the summaries of the clusters found before
    anchor: Tensor  # (B, A, N), the weight of each point as the anchor; without meaning for a seed


class AMCPNetwork(nn.Module):
    """Encoder (IntraCM), proposal conditioned on finished clusters (InterCC), refined read-out."""

    def __init__(self, config: AMCPConfig) -> None:
        super().__init__()
        self.config = config
        width, narrow, columns = config.width, config.read_width, config.columns
        # Without a density a cluster has no place: every moment below has no columns.
        self.located = columns if config.density == "gaussian" else 0

        def mixing(block_width: int, em_steps: int) -> IntraCM:
            return IntraCM(block_width, config.heads, config.references, em_steps, config.e_step)

        self.embed = mlp([columns, width, width, width])
        encoder = nn.ModuleList(
            mixing(width, config.em_steps) for _ in range(config.encoder_blocks)
        )
        decoder = nn.ModuleList(mixing(narrow, 1) for _ in range(config.decoder_blocks))
        self.encoder = cast("Sequence[IntraCM]", encoder)
        self.decoder = cast("Sequence[IntraCM]", decoder)
        self.norm_encoded = nn.LayerNorm(width)
        self.norm_decoded = nn.LayerNorm(narrow) if config.decoder_blocks else nn.Identity()
        self.score_map = nn.Linear(width, narrow)
        self.proposal_maps = nn.Linear(width, 2 * narrow)

        if config.proposal == "anchor":
            self.look_around = nn.Linear(narrow, narrow)
            self.promise = mlp([width, narrow, 1])
        else:
            self.seed = nn.Parameter(0.1 * torch.randn(narrow))
        if config.coupling:
            self.summarise = mlp([narrow + 1, width, width])
            self.couple = mlp([width + narrow + 1, width, narrow])
        self.propose_in = nn.Linear(narrow, width)
        self.propose = mlp([width, width, width])
        self.norm_propose = nn.LayerNorm(width)
        if self.located:
            self.place = nn.Linear(2 * self.located + 1, narrow, bias=False)
            self.first_offset = _zero(nn.Linear(width, 2 * self.located))
            self.offset = _zero(nn.Linear(width, 2 * self.located))

        self.modulate = nn.Linear(width, 2 * narrow)
        # ReLU: this runs for every point, cluster and refinement, and GELU costs six times as much.
        self.read = nn.Sequential(nn.ReLU(), nn.Linear(narrow, narrow), nn.ReLU())
        self.membership = nn.Linear(narrow, 1)

        self.refine = mlp([width + narrow + 1 + 2 * self.located, width, width])
        self.norm_refine = nn.LayerNorm(width)

    def encode(self, points: Tensor, mask: Tensor) -> tuple[Features, tuple[Tensor, ...]]:
        """IntraCM over a set: points (B, N, D), mask (B, N) -> features and the blocks' slots."""
        encoded, slots = self.embed(points), []
        for block in self.encoder:
            slots.append(block.gather(encoded, mask))
            encoded = block.read(encoded, slots[-1])
        return self._features(points, encoded), tuple(slots)

    def guess(
        self, features: Features, question: Question
    ) -> tuple[list[Guess], tuple[Tensor, ...]]:
        """A proposal and its refinements for each question; also the slots of the decoder."""
        belief = self._propose(features, question)
        score, slots = features.score[:, None], []  # (B, 1, N, W)
        if self.decoder:
            score = self._condition(score, features.points, belief)  # (B, A, N, W)
            mask = question.remaining.flatten(0, 1)
            for block in self.decoder:
                slots.append(block.gather(score.flatten(0, 1), mask))
                score = block.read(score.flatten(0, 1), slots[-1]).view_as(score)
            score = self.norm_decoded(score)
        guesses = [Guess(self._logits(score, features.points, belief), belief)]
        for _ in range(self.config.refinements):
            belief = self._refine(features, question.remaining, guesses[-1])
            guesses.append(Guess(self._logits(score, features.points, belief), belief))
        return guesses, tuple(slots)

    def summary(self, pool: Tensor, members: Tensor, n_points: Tensor) -> Tensor:
        """What finished clusters leave to later ones.

        pool (B, N, W), members (B, K, N) bool, n_points (B,) -> (B, K, C).
        """
        if not self.config.coupling:
            return pool.new_zeros(*members.shape[:2], self.config.width)
        weight = members.to(pool)
        size = count_points(weight)[..., None]  # (B, K, 1)
        share = size / n_points.clamp_min(1)[:, None, None]
        mean = all_points_sum(weight @ pool) / size.clamp_min(1)
        # Weighted by its share, so that the sum stays bounded however many clusters there are.
        return share * self.summarise(torch.cat([mean, _log(share)], -1))

    def _features(self, points: Tensor, encoded: Tensor) -> Features:
        encoded = self.norm_encoded(encoded)
        if self.config.proposal == "anchor":
            promise = self.promise(encoded.detach())  # it judges the encoding, it must not bend it
        else:
            promise = encoded.new_zeros(*encoded.shape[:2], 1)
        pool, key = self.proposal_maps(encoded).chunk(2, -1)
        return Features(points[..., : self.located], self.score_map(encoded), pool, key, promise)

    def _read_score(self, points: Tensor, slots: Sequence[Tensor]) -> Tensor:
        """The score of any points (B, M, D) against kept slots: (B, 1, M, W)."""
        encoded: Tensor = self.embed(points)
        for block, kept in zip(self.encoder, slots, strict=True):
            encoded = block.read(encoded, kept)
        score: Tensor = self.score_map(self.norm_encoded(encoded))
        return score[:, None]

    def _anchor(self, promise: Tensor, refused: Tensor, mask: Tensor) -> Tensor:
        """The point to start from: the most promising one that no cluster nearly took.

        promise and refused (B, N, 1), mask (B, N) -> weights (B, 1, N) that sum to one.
        """
        outlook = torch.where(mask, (logsigmoid(promise) + refused)[..., 0], -torch.inf)
        best = all_points_max(outlook.amax(1, keepdim=True))
        chosen = (mask & (outlook == best)).to(promise)  # equal ones share
        return (chosen / count_points(chosen)[:, None].clamp_min(1))[:, None]

    def _query(self, features: Features, question: Question) -> Tensor:
        """What the proposal looks for: (B, A, W)."""
        if self.config.proposal == "anchor":
            query = self.look_around(all_points_sum(question.anchor @ features.key))
        else:
            query = self.seed.expand(*question.remaining.shape[:2], -1)
        if not self.config.coupling:
            return query
        remaining = question.remaining.to(features.pool)
        size = count_points(remaining)[..., None]  # (B, A, 1)
        total = all_points_sum(remaining @ features.pool)
        share = size / question.n_points.clamp_min(1)[:, None, None]
        seen = [question.finished, total / size.clamp_min(1), _log(share)]
        return query + self.couple(torch.cat(seen, -1))

    def _propose(self, features: Features, question: Question) -> Belief:
        """Attention of the query over what remains: phi, and the moments of what it sees."""
        heads, query = self.config.heads, self._query(features, question)
        keys = features.key.unflatten(-1, (heads, -1)).transpose(1, 2)  # (B, H, N, c)
        values = features.pool.unflatten(-1, (heads, -1)).transpose(1, 2)
        queries = query.unflatten(-1, (heads, -1)).transpose(1, 2)  # (B, H, A, c)
        scores = queries @ keys.transpose(-1, -2) * keys.shape[-1] ** -0.5  # (B, H, A, N)
        weights = masked_softmax(scores, question.remaining[:, None], -1)
        pooled = all_points_sum(weights @ values).transpose(1, 2).flatten(2) + query  # (B, A, W)
        phi = self.propose_in(pooled)
        phi = self.norm_propose(phi + self.propose(phi))
        place = weights.mean(1)  # (B, A, N)
        mean = all_points_sum(place @ features.points)
        deviation = (features.points[:, None] - mean[:, :, None]).square()  # (B, A, N, D)
        spread = all_points_sum((place[..., None] * deviation).sum(2))
        return self._place(phi, mean, (spread + 1e-3).sqrt(), "first_offset")

    def _refine(self, features: Features, remaining: Tensor, guess: Guess) -> Belief:
        """One more look: pool the points by their memberships, move phi and the moments."""
        weight = guess.logits.sigmoid() * remaining  # (B, A, N)
        mass = all_points_sum(weight.sum(2, keepdim=True))
        pooled = all_points_sum(weight @ features.pool) / (mass + 1e-3)
        phi, mean, log_scale = guess.belief
        points = features.points[:, None]
        new_mean, new_scale = map_moments(points, weight, mean, self.config.cluster_scale)
        share = _log(mass / count_points(remaining)[..., None].clamp_min(1))
        moved = ((new_mean - mean) * (-log_scale).exp()).clamp(-10, 10)
        news = torch.cat([phi, pooled, share, moved, new_scale.log() - log_scale], -1)
        phi = self.norm_refine(phi + self.refine(news))
        return self._place(phi, new_mean, new_scale, "offset")

    def _place(self, phi: Tensor, mean: Tensor, scale: Tensor, offset: str) -> Belief:
        """The moments of the points, corrected by what phi knows better."""
        if not self.located:
            return Belief(phi, mean, scale.log())
        shift, stretch = getattr(self, offset)(phi).chunk(2, -1)
        log_scale = (scale.log() + stretch).clamp(-3.5, 4.0)  # a density that cannot explode
        return Belief(phi, mean + shift * scale, log_scale)

    def _gaussian(self, belief: Belief) -> Gaussians | None:
        if not self.located:
            return None
        return Gaussians(belief.mean.new_zeros(belief.mean.shape[:2]), *belief[1:])

    def _condition(self, score: Tensor, points: Tensor, belief: Belief) -> Tensor:
        """Each point in the light of each cluster: what it looks like, and where it lies in it.

        score (B, 1 or A, N, W), points (B, N, D) -> (B, A, N, W).
        """
        gate, shift = self.modulate(belief.phi)[:, :, None].chunk(2, -1)
        seen = torch.addcmul(shift, score, 1 + gate)
        if not self.located:
            return seen
        z = (points[:, None] - belief.mean[:, :, None]) * (-belief.log_scale).exp()[:, :, None]
        z = z.clamp(-30, 30)
        square = z.square()
        distance = torch.log1p(square.sum(-1, keepdim=True))
        place = [z / (1 + z.abs() / 4), -square / (1 + square / 8), distance]
        return seen + self.place(torch.cat(place, -1))

    def _logits(self, score: Tensor, points: Tensor, belief: Belief) -> Tensor:
        hidden = self.read(self._condition(score, points, belief))
        return self.membership(hidden)[..., 0]

    def _density(self, features: Features, belief: Belief) -> Tensor:
        """Log-density of each point under each cluster's Gaussian: (B, A, N); zero without one."""
        density = gaussian_log_density(features.points, belief.mean, belief.log_scale)
        return density.transpose(1, 2)


def _zero(layer: nn.Linear) -> nn.Linear:
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def _log(share: Tensor) -> Tensor:
    return share.clamp_min(1e-4).log()
