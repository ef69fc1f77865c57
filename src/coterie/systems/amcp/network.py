"""The network of AMCP (Liu, Jing 2022): mixing, coupling with the clusters found, read-out.

IntraCM follows the paper's appendix B; the proposal, its refinements, the narrow read-out and the
form of the coupling are this project's own.

Shapes: B sets of N points; A queries, each for one cluster, in parallel: one in a step of the loop,
several in training.
"""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, autocast, nn
from torch.nn.functional import logsigmoid, normalize

from coterie.densities.gaussian import DiagonalGaussian
from coterie.functional.anchors import best_anchor, spread_anchors
from coterie.functional.diffusion import n_scales, nearness, walk_from
from coterie.functional.em import gaussian_log_density, map_moments
from coterie.functional.reduce import all_points_sum, count_points, masked_softmax
from coterie.layers.mixing import IntraCM
from coterie.layers.mlp import mlp
from coterie.systems.amcp.config import AMCPConfig
from coterie.systems.amcp.encoder import SetEncoder
from coterie.systems.amcp.parts import Belief, Features, Guess, Question, Scene

FIRST_SLOPE, FIRST_OFFSET = 6.0, -3.0  # of the cosine: at first only points like the anchor join


class AMCPNetwork(nn.Module):
    """Encoder (IntraCM), proposal conditioned on finished clusters (InterCC), refined read-out."""

    def __init__(self, config: AMCPConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = SetEncoder(config)
        width, narrow, columns = config.width, config.read_width, config.columns
        act = config.activation
        # Without a density a cluster has no position: every moment below has zero columns.
        self.located = columns if config.density == "gaussian" else 0
        if config.landmarks:
            self.walk_map = nn.Linear(n_scales(config.leaps), narrow, bias=False)
        decoder = nn.ModuleList(
            IntraCM(narrow, config.heads, config.references, 1, config.e_step, act)
            for _ in range(config.decoder_blocks)
        )
        self.decoder = cast("Sequence[IntraCM]", decoder)
        self.norm_decoded = nn.LayerNorm(narrow) if config.decoder_blocks else nn.Identity()
        self.score_map = nn.Linear(width, narrow)
        self.proposal_maps = nn.Linear(width, 2 * narrow)

        if config.proposal == "anchor":
            self.look_around = nn.Linear(narrow, narrow)
            self.promise = mlp([width, narrow, 1], act)
        else:
            self.seed = nn.Parameter(torch.empty(narrow).normal_().mul_(0.1))
        if config.coupling:
            self.summarise = mlp([narrow + 1, width, width], act)
            self.couple = mlp([width + narrow + 1, width, narrow], act)
        self.propose_in = nn.Linear(narrow, width)
        self.propose = mlp([width, width, width], act)
        self.norm_propose = nn.LayerNorm(width)
        if self.located:
            self.place = nn.Linear(2 * self.located + 1, narrow, bias=False)
            self.first_offset = _zero(nn.Linear(width, 2 * self.located))
            self.offset = _zero(nn.Linear(width, 2 * self.located))

        self.modulate = nn.Linear(width, 2 * narrow)
        # ReLU: this runs for every point, cluster and refinement, and GELU is six times as slow. In
        # place: new memory for all anchors together takes longer than the products.
        self.read = nn.Sequential(
            nn.ReLU(inplace=True), nn.Linear(narrow, narrow), nn.ReLU(inplace=True)
        )
        self.membership = nn.Linear(narrow, 1)

        if config.comparison:
            self.slope = nn.Parameter(torch.tensor(FIRST_SLOPE))
            self.offset_of_angle = nn.Parameter(torch.tensor(FIRST_OFFSET))

        self.refine = mlp([width + narrow + 1 + 2 * self.located, width, width], act)
        self.norm_refine = nn.LayerNorm(width)

    def encode(self, points: Tensor, mask: Tensor) -> tuple[Features, tuple[Tensor, ...]]:
        """Encode sets for the steps: points (B, N, D), mask (B, N) -> features and slots."""
        encoded, slots, near, walks = self.encoder.mix(points, mask)
        if self.config.proposal == "anchor":
            promise = self.promise(encoded.detach())  # its loss must not train the encoder
        else:
            promise = encoded.new_zeros(*encoded.shape[:2], 1)
        pool, key = self.proposal_maps(encoded).chunk(2, -1)
        place, score = points[..., : self.located], self.score_map(encoded)
        return Features(place, score, pool, key, promise, near, walks), slots

    def view(self, points: Tensor, slots: Sequence[Tensor]) -> Scene:
        """Encode any points (B, M, D) from stored slots."""
        encoded, near = self.encoder.read_slots(points, slots)
        return Scene(self.score_map(encoded)[:, None], points[..., : self.located], near)

    def guess(
        self, features: Features, question: Question
    ) -> tuple[list[Guess], tuple[Tensor, ...]]:
        """The proposal and its refinements for each query, and the slots of the decoder."""
        belief = self._propose(features, question)
        scene = Scene(features.score[:, None], features.points, features.near)
        slots: list[Tensor] = []
        if self.decoder:
            score = self.condition(scene, belief)  # (B, A, N, W)
            mask = question.remaining.flatten(0, 1)
            for block in self.decoder:
                slots.append(block.gather(score.flatten(0, 1), mask))
                score = block.read(score.flatten(0, 1), slots[-1]).view_as(score)
            scene = scene._replace(score=self.norm_decoded(score))
        guesses = [Guess(self.logits(scene, belief), belief)]
        for _ in range(self.config.refinements):
            belief = self._refine(features, question.remaining, guesses[-1])
            guesses.append(Guess(self.logits(scene, belief), belief))
        return guesses, tuple(slots)

    def summary(self, pool: Tensor, members: Tensor, n_points: Tensor) -> Tensor:
        """Summaries of finished clusters, on which later ones are conditioned.

        pool (B, N, W), members (B, K, N) bool, n_points (B,) -> (B, K, C).
        """
        if not self.config.coupling:
            return pool.new_zeros(*members.shape[:2], self.config.width)
        weight = members.to(pool)
        size = count_points(weight)[..., None]  # (B, K, 1)
        share = size / n_points.clamp_min(1)[:, None, None]
        mean = all_points_sum(weight @ pool) / size.clamp_min(1)
        # Weighted by its share, so that the sum is bounded for any number of clusters.
        return share * self.summarise(torch.cat([mean, _log(share)], -1))

    def anchors(self, promise: Tensor, refused: Tensor, mask: Tensor) -> Tensor:
        """Anchors, chosen by their promise and by how narrowly earlier clusters rejected them.

        promise and refused (B, N, 1), mask (B, N) -> weights (B, A, N) that sum to one.
        """
        outlook = torch.where(mask, (logsigmoid(promise) + refused)[..., 0], -torch.inf)
        if self.config.proposals > 1:
            return spread_anchors(outlook, mask, self.config.proposals)
        return best_anchor(outlook, mask)

    def _query(self, features: Features, question: Question) -> Tensor:
        """The query vectors of the proposal: (B, A, W)."""
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
        """Attention of the query over the remaining points: phi, and the attended moments."""
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
        # A comparison begins with the anchor itself: the attended mean says little at first.
        middle = question.anchor if self.config.comparison else place
        mean = all_points_sum(middle @ features.points)
        deviation = (features.points[:, None] - mean[:, :, None]).square()  # (B, A, N, D)
        spread = all_points_sum((place[..., None] * deviation).sum(2))
        walked = self._walk(features, question.anchor)
        return self._place(phi, mean, (spread + 1e-3).sqrt(), walked, "first_offset")

    def _refine(self, features: Features, remaining: Tensor, guess: Guess) -> Belief:
        """One refinement: pool the points by their memberships, update phi and the moments."""
        weight = guess.logits.sigmoid() * remaining  # (B, A, N)
        mass = all_points_sum(weight.sum(2, keepdim=True))
        pooled = all_points_sum(weight @ features.pool) / (mass + 1e-3)
        phi, mean, log_scale, _ = guess.belief
        points = features.points[:, None]
        new_mean, new_scale = map_moments(points, weight, mean, self.config.cluster_scale)
        share = _log(mass / count_points(remaining)[..., None].clamp_min(1))
        moved = ((new_mean - mean) * (-log_scale).exp()).clamp(-10, 10)
        inputs = torch.cat([phi, pooled, share, moved, new_scale.log() - log_scale], -1)
        phi = self.norm_refine(phi + self.refine(inputs))
        walked = self._walk(features, weight)
        return self._place(phi, new_mean, new_scale, walked, "offset")

    def _walk(self, features: Features, weights: Tensor) -> Tensor:
        """End distributions of walks from weighted points (B, A, N): (B, A, L, M), or empty."""
        if features.near is None or features.walks is None:
            return weights.new_zeros(*weights.shape[:2], 0, 0)
        return walk_from(weights, features.near, features.walks)

    def _place(
        self, phi: Tensor, mean: Tensor, scale: Tensor, walked: Tensor, offset: str
    ) -> Belief:
        """The moments of the points with a learnt correction computed from phi."""
        if not self.located:
            return Belief(phi, mean, scale.log(), walked)
        shift, stretch = getattr(self, offset)(phi).chunk(2, -1)
        log_scale = (scale.log() + stretch).clamp(-3.5, 4.0)  # keeps the density bounded
        return Belief(phi, mean + shift * scale, log_scale, walked)

    def density(self, belief: Belief) -> DiagonalGaussian | None:
        """The density of the first cluster; None if clusters have no density."""
        if not self.located:
            return None
        return DiagonalGaussian(belief.mean[:, 0], belief.log_scale[:, 0])

    def condition(self, scene: Scene, belief: Belief) -> Tensor:
        """Features of each point relative to each cluster: its encoding and its position.

        -> (B, A, N, W).
        """
        gate, shift = self.modulate(belief.phi)[:, :, None].chunk(2, -1)
        seen = torch.addcmul(shift, scene.score, 1 + gate)
        if scene.near is not None:
            seen += self.walk_map(nearness(scene.near, belief.walked))
        if not self.located:
            return seen
        apart = scene.points[:, None] - belief.mean[:, :, None]
        z = (apart * (-belief.log_scale).exp()[:, :, None]).clamp(-30, 30)
        square = z.square()
        distance = torch.log1p(square.sum(-1, keepdim=True))
        place = [z / (1 + z.abs() / 4), -square / (1 + square / 8), distance]
        return seen + self.place(torch.cat(place, -1))

    def logits(self, scene: Scene, belief: Belief) -> Tensor:
        hidden = self.read(self.condition(scene, belief))
        logits: Tensor = self.membership(hidden)[..., 0]
        if not self.config.comparison:
            return logits
        # Not in bfloat16, whose third digit already decides who belongs to a cluster.
        with autocast(logits.device.type, enabled=False):
            units = (normalize(each.to(self.slope), dim=-1) for each in (belief.mean, scene.points))
            cluster, points = units
            cosine = cluster @ points.transpose(1, 2)  # (B, A, N)
        return logits + self.slope * cosine + self.offset_of_angle

    def log_density(self, features: Features, belief: Belief) -> Tensor:
        """Log-density of each point under each cluster's Gaussian: (B, A, N); 0 without one."""
        density = gaussian_log_density(features.points, belief.mean, belief.log_scale)
        return density.transpose(1, 2)


def _zero(layer: nn.Linear) -> nn.Linear:
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def _log(share: Tensor) -> Tensor:
    return share.clamp_min(1e-4).log()
