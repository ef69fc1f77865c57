"""CHiGac as a sequential system: each step generates one cluster (eq. 6)."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.functional import logsigmoid

from coterie.data.batch import SetBatch, compact
from coterie.functional.partitions import one_hot
from coterie.systems.chigac.config import CHiGacConfig
from coterie.systems.chigac.inference import STRATEGIES
from coterie.systems.chigac.inference.iterative import Refinement
from coterie.systems.chigac.inference.protocol import Inner, Objectives
from coterie.systems.chigac.lessons import Lesson, lesson
from coterie.systems.chigac.network import CHiGacNetwork, Embedded, Known
from coterie.systems.chigac.posterior import Gaussian
from coterie.systems.items import ItemSystem
from coterie.systems.protocol import (
    MOST_CLUSTERS,
    Commit,
    State,
    everything_remains,
    require_labels,
)
from coterie.systems.traits import Traits


class Kept(NamedTuple):
    """What a step leaves for the next one.

    embedded: all points; slots: of the embedding's blocks; clusters: (B, 1, K, R, C), those so far.
    """

    embedded: Embedded
    slots: tuple[Tensor, ...]
    clusters: Tensor


class CHiGac(ItemSystem):
    """The generative model of clusters: pioneer, representation, assignments."""

    name = "chigac"
    config: CHiGacConfig

    def __init__(self, config: CHiGacConfig) -> None:
        super().__init__(config)
        self.network = CHiGacNetwork(config)
        self.refine: Refinement | None = None
        if config.inference == "iai":
            self.refine = Refinement(config.latent, config.width)

    @property
    def traits(self) -> Traits:
        return replace(self.config.traits, frame=self.frame)

    @property
    def regions(self) -> tuple[tuple[Any, str], ...]:
        return (*self.encoder_regions, (self.network, "embed"), (self.network, "reading"))

    def start(self, batch: SetBatch) -> State:
        return everything_remains(self.as_vectors(batch))

    def step_limit(self, batch: SetBatch) -> int:
        return max(MOST_CLUSTERS, 2 * self.config.k_max)

    def step(self, state: State, generator: Generator | None = None) -> Commit:
        """The next cluster: a pioneer, z from its prior, and the points that join it (eq. 10).

        Without a generator z is the prior's mean.
        """
        network, kept = self.network, self._kept(state)
        left = compact(state.remaining)
        points = Embedded(*(left.take(part) for part in kept.embedded))
        known = network.know(points.points, left.mask[:, None], kept.clusters, None)
        number = torch.full((1,), len(state.commits), device=left.mask.device)
        may_begin = left.mask & left.take(self._may_begin(state))
        logits = network.pioneer_logits(points, known, number)[:, 0]
        log_p = torch.where(may_begin, logits, -torch.inf).log_softmax(1)
        itself = self._pioneer(log_p, generator)  # (B, M) bool, one point of each set
        pioneer = itself[:, None].to(points.points) @ points.points  # (B, 1, C)

        prior, reading = network.prior(pioneer, known), network.reading(points.points, known)
        z = self._draws_of(prior, generator)
        logits = _averaged(network.decode(points.unit, reading, z))
        joined = left.mask & (self._decided(logits, generator) | itself)

        own = network.summarise(points.points, joined[:, None])[:, None]  # (B, 1, 1, R, C)
        sure = logsigmoid(torch.where(joined, logits, -logits))
        decided = torch.where(left.mask & ~itself, sure, 0.0).sum(1)
        decided = torch.where(may_begin.any(1), decided + torch.where(itself, log_p, 0.0).sum(1), 0)
        return Commit(
            left.scatter(joined, False),
            left.scatter(logits),
            (*kept.slots, pioneer[:, 0], known.slots[:, 0], z[:, 0]),
            log_probability=decided,
            encoded=kept._replace(clusters=torch.cat([kept.clusters, own], 2)),
        )

    def finished(self, state: State) -> Tensor:
        """No point is left that may begin a cluster."""
        return ~(state.remaining & self._may_begin(state)).any(1)

    def replay(self, points: Tensor, commits: Sequence[Commit]) -> Tensor:
        """Membership logits of any points (B, M, D) in S steps that were taken: (B, M, S)."""
        network = self.network
        embedded = network.view(points, commits[0].memory[:-3])
        logits = []
        for commit in commits:
            slots, z = commit.memory[-2:]
            reading = network.reading(embedded.points, Known(slots[:, None]))
            logits.append(_averaged(network.decode(embedded.unit, reading, z[:, None])))
        return torch.stack(logits, -1)

    def pioneers(self, points: Tensor, commits: Sequence[Commit]) -> Tensor:
        """Which of the points (B, N, D) of the sets began each of S steps: (B, S).

        A step keeps what its pioneer became; it is the point that is most like that.
        """
        embedded = self.network.view(points, commits[0].memory[:-3]).points
        begun = torch.stack([commit.memory[-3] for commit in commits], 1)  # (B, S, C)
        return torch.cdist(begun, embedded).argmin(2)

    def set_loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        """Minus the bound of the sets' log-likelihood, for each point.

        The objectives of the model and of the encoder may differ; each gets its own gradient.
        """
        given = self.lesson_of(batch, self.config.k_max, generator)
        found = self._infer(given, generator)
        climbed = found.generative
        if found.recognition is not None:
            climbed = climbed + found.recognition - found.recognition.detach()
        total = torch.where(given.exists, climbed, 0.0).sum()
        return -total / batch.mask.sum().clamp_min(1)

    def lesson_of(self, batch: SetBatch, n_clusters: int, generator: Generator | None) -> Lesson:
        """The steps that generate labelled sets, and their bounds."""
        labels = require_labels(batch)
        vectors = self.as_vectors(batch)
        embedded, _ = self.network.embed(vectors.points, vectors.mask)
        return lesson(self.network, embedded, labels, n_clusters, generator)

    def log_likelihood_bound(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        """A lower bound of the log-probability of each labelled partition: (B,).

        It is the bound of the inference strategy, from one draw of its random numbers.
        """
        labels = require_labels(batch)
        # Inference mode forbids the gradients that the inner steps need.
        with torch.inference_mode(False), torch.no_grad():
            points = self.as_vectors(batch).points.clone()
            plain = SetBatch(points, batch.mask.clone(), labels.clone())
            given = self.lesson_of(plain, int(labels.max()) + 1, generator)
            bounds = self._infer(given, generator).generative
            return torch.where(given.exists, bounds, 0.0).sum(1)

    def _infer(self, given: Lesson, generator: Generator | None) -> Objectives:
        config = self.config
        inner = Inner(config.inner_steps, config.inner_rate, generator, self.refine)
        return STRATEGIES[config.inference](given.bound, given.first, inner)

    def _kept(self, state: State) -> Kept:
        """What the last step left; before the first one the points are embedded."""
        if isinstance(state.encoded, Kept):
            return state.encoded
        points, mask = state.batch.points, state.batch.mask
        n_sets, copies = len(points), points.stride(0) == 0  # a view: embedded once
        embedded, slots = self.network.embed(
            *((points[:1], mask[:1]) if copies else (points, mask))
        )
        if copies:
            embedded = Embedded(*(_repeated(part, n_sets) for part in embedded))
            slots = tuple(_repeated(part, n_sets) for part in slots)
        shape = (n_sets, 1, 0, self.config.cluster_slots, self.config.width)
        return Kept(embedded, slots, embedded.points.new_zeros(shape))

    def _may_begin(self, state: State) -> Tensor:
        """The points that may be pioneers, (B, N) bool: those that earlier clusters surely refused.

        Points in doubt between two clusters would otherwise become a cluster of their own. Of a
        joint draw all may be.
        """
        if self.config.draws == "joint" or not state.commits:
            return torch.ones_like(state.remaining)
        logits = torch.stack([commit.membership_logits for commit in state.commits])
        refused = logsigmoid(-logits.clamp_min(-1e4)).sum(0)
        return refused >= math.log1p(-min(self.config.doubt, 1 - 1e-6))

    def _pioneer(self, log_p: Tensor, generator: Generator | None) -> Tensor:
        """The most probable pioneer, or a draw: (B, M) -> (B, M) bool."""
        if self.config.draws == "joint":
            uniform = torch.rand(log_p.shape, generator=generator, device=log_p.device)
            log_p = log_p - (-uniform.to(log_p).clamp_min(1e-20).log()).clamp_min(1e-20).log()
        return one_hot(log_p.nan_to_num(-torch.inf).argmax(1), log_p.shape[1])

    def _draws_of(self, about: Gaussian, generator: Generator | None) -> Tensor:
        """L draws of z, or one for a joint draw: over (B, 1, Z) -> (B, 1, L, Z)."""
        mean = about.mean
        if generator is None:
            return mean[:, :, None]
        n_draws = 1 if self.config.draws == "joint" else self.config.samples
        shape = (*mean.shape[:2], n_draws, mean.shape[2])
        noise = torch.randn(shape, generator=generator, device=mean.device, dtype=mean.dtype)
        return about.over(2).at(noise)

    def _decided(self, logits: Tensor, generator: Generator | None) -> Tensor:
        """Who joins: the more probable, or a draw: (B, M) -> (B, M) bool."""
        if self.config.draws == "mode":
            return logits > 0
        uniform = torch.rand(logits.shape, generator=generator, device=logits.device)
        return uniform < logits.sigmoid()


def _repeated(one: Tensor, times: int) -> Tensor:
    """A single set as many: (1, ...) -> (times, ...)."""
    return one.expand(times, *one.shape[1:])


def _averaged(logits: Tensor) -> Tensor:
    """The logits of the mean probability over L draws, eq. 10: (B, 1, L, M) -> (B, M)."""
    yes = logsigmoid(logits).logsumexp(2)
    no = logsigmoid(-logits).logsumexp(2)
    return (yes - no)[:, 0]
