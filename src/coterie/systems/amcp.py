"""Amortized mixing coupling processes (AMCP; Liu, Jing 2022): clusters by mixing and coupling.

The network follows the paper's appendix and abstract. IntraCM is appendix B; the proposal, its
refinements, the narrow read-out and the form of the coupling are this project's own. A step turns
the unassigned points and the clusters found so far into a representation phi of the next cluster,
and phi into a membership probability for each point; given phi the points are independent
(appendix B.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import torch
from torch import Generator, Tensor, nn

from coterie.data.batch import SetBatch, compact
from coterie.functional.em import Gaussians, gaussian_log_density, map_moments
from coterie.functional.matching import (
    cluster_mean,
    membership_loss,
    minimum_over_clusters,
    present_clusters,
)
from coterie.functional.mixing import E_STEPS, EStep
from coterie.functional.partitions import claim
from coterie.functional.reduce import (
    all_points_sum,
    count_points,
    masked_mean,
    masked_softmax,
)
from coterie.layers.mixing import IntraCM
from coterie.layers.mlp import mlp
from coterie.systems.protocol import (
    Commit,
    State,
    everything_remains,
    nothing_left,
    require_labels,
)


@dataclass(frozen=True)
class AMCPConfig:
    """Shape of the network, how it mixes, and what its training sets look like.

    encode_once: the points are encoded once for all clusters (else again for each cluster, from
    the points that remain); decoder_blocks: mixing under the light of a proposed cluster;
    coupling: whether finished clusters condition the next proposal (InterCC); density: whether a
    cluster has a mean and a scale, or is whatever its members have in common; cluster_scale: the
    scale of the imaginary point that steadies a cluster's moments.
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
    encode_once: bool = False
    coupling: bool = False
    density: Literal["gaussian", "none"] = "gaussian"
    cluster_scale: float = 0.25
    k_max: int = 4
    unroll: int = 1
    min_share: float = 0.02

    def __post_init__(self) -> None:
        if self.e_step not in E_STEPS:
            raise ValueError(f"e_step must be one of {', '.join(E_STEPS)}, got {self.e_step!r}")
        if self.density not in ("gaussian", "none"):
            raise ValueError(f"density must be gaussian or none, got {self.density!r}")
        if self.width % self.heads or self.read_width % self.heads:
            raise ValueError(f"{self.heads} heads must divide width and read_width")
        if self.coupling and self.unroll < 2:
            raise ValueError("coupling is learnt over several steps: unroll must be 2 or more")


class Features(NamedTuple):
    """What a step reads of each point: its place, and narrow maps of its encoding."""

    points: Tensor  # (B, N, D), of no columns where clusters have no density
    score: Tensor  # (B, N, W), for the memberships
    pool: Tensor  # (B, N, W), for the sums over points
    key: Tensor  # (B, N, W), for the proposal
    value: Tensor  # (B, N, W)


class Belief(NamedTuple):
    """A cluster as the network sees it at some moment of a step."""

    phi: Tensor  # (B, C)
    mean: Tensor  # (B, D)
    log_scale: Tensor  # (B, D)


class Guess(NamedTuple):
    """A belief and the memberships (B, N) that follow from it."""

    logits: Tensor
    belief: Belief


class AMCP(nn.Module):
    """Encoder (IntraCM), proposal conditioned on finished clusters (InterCC), refined read-out."""

    name = "amcp"
    regions = ("encode", "step_loss")

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
        self.point_maps = nn.Linear(width, 4 * narrow)

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
        self.read = nn.Sequential(nn.GELU(), nn.Linear(narrow, narrow), nn.GELU())
        self.membership = nn.Linear(narrow, 1)

        self.refine = mlp([width + narrow + 1 + 2 * self.located, width, width])
        self.norm_refine = nn.LayerNorm(width)

    # The sequential contract

    def start(self, batch: SetBatch) -> State:
        encoded = None
        if self.config.encode_once:
            encoded = self.encode(batch.points, batch.mask)
        return everything_remains(batch, encoded)

    def step(self, state: State, generator: Generator | None = None) -> Commit:
        left = compact(state.remaining)
        if state.encoded is None:
            features, slots = self.encode(left.take(state.batch.points), left.mask)
        else:
            features, slots = state.encoded
            features = Features(*map(left.take, features))
        n_points = count_points(state.batch.mask)
        finished = features.pool.new_zeros(len(n_points), self.config.width)
        for commit in state.commits:
            finished = finished + commit.memory[-1]
        guesses, decoder_slots = self.guess(features, left.mask, n_points, finished)
        first, last = guesses[0].belief, guesses[-1].belief
        logits = left.scatter(guesses[-1].logits)
        joined = claim(logits, state.remaining, self.config.min_share * n_points)
        claimed = left.take(joined[..., None])[..., 0] & left.mask
        summary = self.summary(features.pool, claimed, n_points)
        memory = (*slots, *decoder_slots, *first, *last, summary)
        return Commit(joined, logits, memory, self._gaussian(last))

    def finished(self, state: State) -> Tensor:
        return nothing_left(state)

    def replay(self, points: Tensor, commits: Sequence[Commit]) -> Tensor:
        encoded, logits = None, []
        for commit in commits:
            kept = iter(commit.memory)
            slots = [next(kept) for _ in self.encoder]
            if encoded is None or not self.config.encode_once:
                encoded = self._features(points, self._read_encoder(points, slots))
            decoder_slots = [next(kept) for _ in self.decoder]
            first, last = (Belief(*(next(kept) for _ in Belief._fields)) for _ in range(2))
            score = encoded.score
            if self.decoder:
                score = self._condition(score, encoded.points, first)
                for block, slot in zip(self.decoder, decoder_slots, strict=True):
                    score = block.read(score, slot)
                score = self.norm_decoded(score)
            logits.append(self._logits(score, encoded.points, last))
        return torch.stack(logits, -1)

    # The network

    def encode(self, points: Tensor, mask: Tensor) -> tuple[Features, tuple[Tensor, ...]]:
        """IntraCM over a set: points (B, N, D), mask (B, N) -> features and the blocks' slots."""
        encoded, slots = self.embed(points), []
        for block in self.encoder:
            slots.append(block.gather(encoded, mask))
            encoded = block.read(encoded, slots[-1])
        return self._features(points, encoded), tuple(slots)

    def guess(
        self, features: Features, mask: Tensor, n_points: Tensor, finished: Tensor
    ) -> tuple[list[Guess], tuple[Tensor, ...]]:
        """One cluster: a proposal and its refinements; also the slots of the decoder.

        features of M points, mask (B, M), n_points (B,) in all, finished (B, C): the sum of the
        summaries of the clusters found before.
        """
        belief = self._propose(features, mask, n_points, finished)
        score, slots = features.score, []
        if self.decoder:
            score = self._condition(score, features.points, belief)
            for block in self.decoder:
                slots.append(block.gather(score, mask))
                score = block.read(score, slots[-1])
            score = self.norm_decoded(score)
        guesses = [Guess(self._logits(score, features.points, belief), belief)]
        for _ in range(self.config.refinements):
            belief = self._refine(features, mask, guesses[-1])
            guesses.append(Guess(self._logits(score, features.points, belief), belief))
        return guesses, tuple(slots)

    def summary(self, pool: Tensor, members: Tensor, n_points: Tensor) -> Tensor:
        """What a finished cluster leaves to later ones: (B, N, W), members (B, N) -> (B, C)."""
        if not self.config.coupling:
            return pool.new_zeros(len(pool), self.config.width)
        share = count_points(members) / n_points.clamp_min(1)
        described = torch.cat([masked_mean(pool, members), _log(share)[:, None]], -1)
        # Weighted by its share, so that the sum stays bounded however many clusters there are.
        return share[:, None] * self.summarise(described)

    def _features(self, points: Tensor, encoded: Tensor) -> Features:
        maps = self.point_maps(self.norm_encoded(encoded)).chunk(4, -1)
        return Features(points[..., : self.located], *maps)

    def _read_encoder(self, points: Tensor, slots: Sequence[Tensor]) -> Tensor:
        encoded: Tensor = self.embed(points)
        for block, kept in zip(self.encoder, slots, strict=True):
            encoded = block.read(encoded, kept)
        return encoded

    def _propose(
        self, features: Features, mask: Tensor, n_points: Tensor, finished: Tensor
    ) -> Belief:
        """Attention of a learnt seed, shifted by the finished clusters, over what remains."""
        query = self.seed.expand(len(mask), -1)
        if self.config.coupling:
            remaining = masked_mean(features.pool, mask)
            share = _log(count_points(mask) / n_points.clamp_min(1))[:, None]
            query = query + self.couple(torch.cat([finished, remaining, share], -1))
        heads = self.config.heads
        keys = features.key.unflatten(-1, (heads, -1))  # (B, N, H, c)
        scores = (keys * query.unflatten(-1, (heads, -1))[:, None]).sum(-1)  # (B, N, H)
        scores = scores * keys.shape[-1] ** -0.5
        weights = masked_softmax(scores, mask[..., None], 1)  # (B, N, H)
        values = features.value.unflatten(-1, (heads, -1))
        pooled = all_points_sum((weights[..., None] * values).sum(1)).flatten(1) + query  # (B, W)
        phi = self.propose_in(pooled)
        phi = self.norm_propose(phi + self.propose(phi))
        place = weights.mean(-1)
        mean = all_points_sum((place[..., None] * features.points).sum(1))
        deviation = (features.points - mean[:, None]).square()
        spread = all_points_sum((place[..., None] * deviation).sum(1))
        return self._place(phi, mean, (spread + 1e-3).sqrt(), "first_offset")

    def _refine(self, features: Features, mask: Tensor, guess: Guess) -> Belief:
        """One more look: pool the points by their memberships, move phi and the moments."""
        weight = torch.where(mask, guess.logits.sigmoid(), 0.0)  # (B, N)
        mass = all_points_sum(weight.sum(1, keepdim=True))
        pooled = all_points_sum((weight[..., None] * features.pool).sum(1)) / (mass + 1e-3)
        phi, mean, log_scale = guess.belief
        new_mean, new_scale = map_moments(features.points, weight, mean, self.config.cluster_scale)
        share = _log(mass / count_points(mask)[:, None].clamp_min(1))
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
        mean, log_scale = belief.mean[:, None], belief.log_scale[:, None]
        return Gaussians(mean.new_zeros(mean.shape[:2]), mean, log_scale)

    def _condition(self, score: Tensor, points: Tensor, belief: Belief) -> Tensor:
        """Each point in the light of a cluster: what it looks like, and where it lies in it."""
        gate, shift = self.modulate(belief.phi)[:, None].chunk(2, -1)
        seen = score * (1 + gate) + shift
        if not self.located:
            return seen
        z = (points - belief.mean[:, None]) * (-belief.log_scale).exp()[:, None]
        z = z.clamp(-30, 30)
        square = z.square()
        distance = torch.log1p(square.sum(-1, keepdim=True))
        place = [z / (1 + z.abs() / 4), -square / (1 + square / 8), distance]
        return seen + self.place(torch.cat(place, -1))

    def _logits(self, score: Tensor, points: Tensor, belief: Belief) -> Tensor:
        hidden = self.read(self._condition(score, points, belief))
        return self.membership(hidden)[..., 0]

    # Training

    def loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        """Minimum over the clusters that remain, averaged over `unroll` steps of each set.

        After a step the true cluster that fitted best is taken away, as if it had been found.
        """
        labels, n_points = require_labels(batch), batch.mask.sum(1)
        remaining, features = batch.mask, None
        finished = batch.points.new_zeros(len(n_points), self.config.width)
        total, counted = batch.points.new_zeros(()), batch.points.new_zeros(())
        for step in range(self.config.unroll):
            if features is None or not self.config.encode_once:
                features, _ = self.encode(batch.points, remaining)
            loss, best = self.step_loss(features, remaining, n_points, finished, labels)
            total = total + loss
            counted = counted + remaining.any(1).sum()
            if step + 1 < self.config.unroll:
                found = remaining & (labels == best[:, None])
                finished = finished + self.summary(features.pool, found, n_points)
                remaining = remaining & ~found
        return total / counted.clamp_min(1)

    def step_loss(
        self,
        features: Features,
        remaining: Tensor,
        n_points: Tensor,
        finished: Tensor,
        labels: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """One step's loss, summed over the sets, and the cluster it fitted best (B,)."""
        guesses, _ = self.guess(features, remaining, n_points, finished)
        losses = [self._losses(features, remaining, labels, guess) for guess in guesses]
        easiest = [minimum_over_clusters(each, labels, remaining).sum() for each in losses]
        present = present_clusters(labels, remaining, self.config.k_max)
        best = torch.where(present, losses[-1].detach(), torch.inf).argmin(1)
        # The first guesses count too, by less: they only have to be good enough to be refined.
        return easiest[-1] + 0.3 * sum(easiest[:-1], torch.zeros_like(easiest[-1])), best

    def _losses(
        self, features: Features, remaining: Tensor, labels: Tensor, guess: Guess
    ) -> Tensor:
        """DAC's eq. 5 against every cluster: (B, K)."""
        k_max = self.config.k_max
        _, mean, log_scale = guess.belief
        density = gaussian_log_density(features.points, mean[:, None], log_scale[:, None])[..., 0]
        fit = -cluster_mean(density, labels, remaining, k_max)
        # Logarithmic growth above 8: a misplaced cluster must not drown the rest of the batch.
        fit = torch.where(fit > 8, 8 + torch.log1p((fit - 8).clamp_min(0)), fit)
        return membership_loss(guess.logits, labels, remaining, k_max) + fit


def _zero(layer: nn.Linear) -> nn.Linear:
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def _log(share: Tensor) -> Tensor:
    return share.clamp_min(1e-4).log()
