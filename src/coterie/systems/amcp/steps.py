"""Amortized mixing coupling processes (AMCP; Liu, Jing 2022).

A step turns the unassigned points and the clusters found so far into a representation phi of the
next cluster, and phi into a membership probability for each point; given phi the points are
independent (appendix B.1). This file has the steps; `network.py` has the network, `lessons.py` its
training loss, `recording.py` the same steps as CUDA graphs.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Generator, Tensor
from torch.nn.functional import logsigmoid

from coterie.data.batch import Compaction, SetBatch, compact
from coterie.densities.protocol import Density
from coterie.functional.matching import sureness
from coterie.functional.partitions import claim
from coterie.functional.reduce import count_points, is_sharded
from coterie.systems.amcp.config import AMCPConfig
from coterie.systems.amcp.lessons import Lessons
from coterie.systems.amcp.network import AMCPNetwork
from coterie.systems.amcp.parts import Belief, Encoding, Features, Found, Question
from coterie.systems.amcp.recording import recorded
from coterie.systems.items import ItemSystem
from coterie.systems.protocol import (
    MOST_CLUSTERS,
    Commit,
    State,
    everything_remains,
    nothing_left,
)
from coterie.systems.traits import Traits

WORTH_KEEPING = 0.8  # of the points: with fewer left, the others are put aside
# Of proposals that are as sure the larger: sureness times the size to this power. A part of a shape
# may look as sure as the whole.
SIZE_COUNTS = 0.02


class AMCP(ItemSystem):
    """The network as a sequential system: one cluster a step."""

    name = "amcp"
    config: AMCPConfig

    def __init__(self, config: AMCPConfig) -> None:
        super().__init__(config)
        self.network = AMCPNetwork(config)
        self.lessons = Lessons(self.network)

    @property
    def traits(self) -> Traits:
        return replace(self.config.traits, frame=self.frame)

    @property
    def regions(self) -> tuple[tuple[Any, str], ...]:
        return (
            *self.encoder_regions,
            (self.network, "encode"),
            (self.lessons, "step_loss"),
            (self.lessons, "anchor_loss"),
        )

    @property
    def encodes_once(self) -> bool:
        """Whether all steps share one encoding of the points."""
        return not self.config.encode_every

    @property
    def n_landmarks(self) -> int:
        """Between how many points random walks run; 0 without walks."""
        return self.config.landmarks

    def nothing_finished(self, points: Tensor) -> Tensor:
        """The sum of the summaries of no clusters, for sets (B, N, D): zeros (B, 1, C)."""
        return points.new_zeros(len(points), 1, self.config.width)

    def set_loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        return self.lessons.loss(batch, generator)

    def accelerated(self) -> Any:
        """The same steps as CUDA graphs, where the system runs on a GPU and encodes once."""
        return recorded(self)

    def step_limit(self, batch: SetBatch) -> int:
        return max(MOST_CLUSTERS, 2 * self.config.k_max)

    def start(self, batch: SetBatch) -> State:
        if is_sharded() and (self.config.landmarks or self.config.proposals > 1):
            raise ValueError(
                "a network with landmarks or several proposals needs all points of a set in one "
                "place: walks and the order of the points cross the shards"
            )
        return everything_remains(self.as_vectors(batch))

    def step(self, state: State, generator: Generator | None = None) -> Commit:
        left, features, slots = encoding = self._encoding(state)
        mask = left.mask & left.take(state.remaining)  # (B, M)
        n_points = count_points(state.batch.mask)
        finished = self.nothing_finished(state.batch.points)
        for commit in state.commits:
            finished = finished + commit.memory[-1]
        found = self.find(features, mask, n_points, finished, left.take(refused_so_far(state)))
        return self.commit(left, slots, found, encoding)

    def commit(
        self, left: Compaction, slots: tuple[Tensor, ...], found: Found, encoded: Any
    ) -> Commit:
        """What was found among the points at hand, as a step among all of them."""
        memory = (*slots, *found.decoder_slots, *found.first, *found.last, found.summary)
        joined, logits = left.scatter(found.claimed, False), left.scatter(found.logits)
        density = self.network.density(found.last)
        return Commit(joined, logits, memory, density=density, encoded=encoded)

    def find(
        self, features: Features, mask: Tensor, n_points: Tensor, finished: Tensor, refused: Tensor
    ) -> Found:
        """The next cluster among encoded points.

        mask (B, M), who is left; n_points (B,), in all; finished (B, 1, C), the sum of what the
        clusters found left; refused (B, M, 1), log of how surely each point was refused by them.
        """
        anchors = self.network.anchors(features.promise, refused, mask)
        remaining = mask[:, None].expand_as(anchors)
        question = Question(remaining, n_points, finished.expand(-1, anchors.shape[1], -1), anchors)
        guesses, decoder_slots = self.network.guess(features, question)
        first, last = guesses[0].belief, guesses[-1].belief
        logits = torch.where(remaining, guesses[-1].logits, -torch.inf)  # (B, A, N)
        if self.config.proposals > 1:
            size = logits.sigmoid().sum(-1)
            surest = (sureness(logits) * size.clamp_min(1) ** SIZE_COUNTS).argmax(1)
            first, last = (
                Belief(*(_pick(part, surest) for part in each)) for each in (first, last)
            )
            logits = _pick(logits, surest)
        claimed = claim(logits[:, 0], mask, self.config.min_share * n_points)
        summary = self.network.summary(features.pool, claimed[:, None], n_points)
        return Found(claimed, logits[:, 0], first, last, decoder_slots, summary)

    def _encoding(self, state: State) -> Encoding:
        """The last encoding, or a new one of what remains where it is time for one."""
        every, turn = self.config.encode_every, len(state.commits)
        if turn and not (every and turn % every == 0):
            return _of_those_left(cast(Encoding, state.encoded), state)
        left = compact(state.remaining)
        return Encoding(left, *self.network.encode(left.take(state.batch.points), left.mask))

    def finished(self, state: State) -> Tensor:
        return nothing_left(state)

    def density(self, commit: Commit) -> Density | None:
        """The density of the cluster of a commit, which `commit` put before the summary."""
        n_parts = len(Belief._fields)
        return self.network.density(Belief(*commit.memory[-n_parts - 1 : -1]))

    def replay(self, points: Tensor, commits: Sequence[Commit]) -> Tensor:
        logits: list[Tensor] = []
        read: list[Tensor] = []  # the slots that gave the scene at hand
        for commit in commits:
            kept = iter(commit.memory)
            slots = [next(kept) for _ in range(self.network.encoder.n_slots)]
            if not read or not all(map(torch.equal, read, slots)):
                read, scene = slots, self.network.view(points, slots)
            decoder_slots = [next(kept) for _ in self.network.decoder]
            first, last = (Belief(*(next(kept) for _ in Belief._fields)) for _ in range(2))
            seen = scene
            if self.network.decoder:
                score = self.network.condition(scene, first)
                for block, slot in zip(self.network.decoder, decoder_slots, strict=True):
                    score = block.read(score[:, 0], slot)[:, None]
                seen = scene._replace(score=self.network.norm_decoded(score))
            logits.append(self.network.logits(seen, last)[:, 0])
        return torch.stack(logits, -1)


def _of_those_left(encoding: Encoding, state: State) -> Encoding:
    """The same encoding without points that have a cluster, once they are worth leaving out.

    Not on a GPU, which would have to say how many they are, and is soon done with them.
    """
    left, features, slots = encoding
    if left.mask.device.type != "cpu":
        return encoding
    remaining = left.mask & left.take(state.remaining)
    if int(remaining.sum(1).amax()) > WORTH_KEEPING * remaining.shape[1]:
        return encoding
    later = compact(remaining)
    points, score, pool, key, promise, near, walks = features
    kept = Features(
        later.take(points),
        later.take(score),
        later.take(pool),
        later.take(key),
        later.take(promise),
        None if near is None else later.take(near),
        walks,
    )
    return Encoding(left.then(later), kept, slots)


def refused_so_far(state: State) -> Tensor:
    """How surely each point was refused by the clusters found: (B, N, 1), log of a probability."""
    if not state.commits:
        return state.batch.points.new_zeros(*state.remaining.shape, 1)
    wanted = torch.stack([commit.membership_logits for commit in state.commits], -1)
    return logsigmoid(-wanted).sum(-1, keepdim=True)


def _pick(parts: Tensor, number: Tensor) -> Tensor:
    """One of the A parts of each set: (B, A, ...), (B,) -> (B, 1, ...)."""
    index = number.view(-1, *[1] * (parts.ndim - 1)).expand(-1, 1, *parts.shape[2:])
    return parts.gather(1, index)
