"""Amortized mixing coupling processes (AMCP; Liu, Jing 2022): clusters by mixing and coupling.

A step turns the unassigned points and the clusters found so far into a representation phi of the
next cluster, and phi into a membership probability for each point; given phi the points are
independent (appendix B.1). The network is `amcp_network.py`; here are its steps and its lessons.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from torch import Generator, Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from coterie.data.batch import Compaction, SetBatch, compact
from coterie.functional.anchors import draw_anchors
from coterie.functional.matching import (
    cluster_mean,
    membership_loss,
    minimum_over_clusters,
    overlap,
    present_clusters,
)
from coterie.functional.partitions import claim, one_hot
from coterie.functional.reduce import count_points
from coterie.systems.amcp_network import AMCPNetwork, Belief, Features, Guess, Question
from coterie.systems.protocol import (
    Commit,
    State,
    everything_remains,
    nothing_left,
    require_labels,
)


class Encoding(NamedTuple):
    """The points that remained when they were last encoded, and what came of it."""

    left: Compaction
    features: Features
    slots: tuple[Tensor, ...]


class Found(NamedTuple):
    """The next cluster of each set, among the M points that are at hand."""

    claimed: Tensor  # (B, M) bool
    logits: Tensor  # (B, M), -inf for points that are not on offer
    first: Belief
    last: Belief
    decoder_slots: tuple[Tensor, ...]
    summary: Tensor  # (B, 1, C), what it leaves to later clusters


class AMCP(AMCPNetwork):
    """The network as a sequential system: one cluster a step, and the losses that teach it."""

    name = "amcp"
    regions = ("encode", "step_loss", "anchor_loss")

    def start(self, batch: SetBatch) -> State:
        return everything_remains(batch)

    def step(self, state: State, generator: Generator | None = None) -> Commit:
        left, features, slots = encoding = self._encoding(state)
        mask = left.mask & left.take(state.remaining)  # (B, M)
        n_points = count_points(state.batch.mask)
        finished = features.pool.new_zeros(len(n_points), 1, self.config.width)
        for commit in state.commits:
            finished = finished + commit.memory[-1]
        found = self.find(features, mask, n_points, finished, left.take(_refused(state)))
        memory = (*slots, *found.decoder_slots, *found.first, *found.last, found.summary)
        joined, logits = left.scatter(found.claimed, False), left.scatter(found.logits)
        return Commit(joined, logits, memory, self._gaussian(found.last), encoding)

    def find(
        self, features: Features, mask: Tensor, n_points: Tensor, finished: Tensor, refused: Tensor
    ) -> Found:
        """The next cluster among encoded points.

        mask (B, M), who is left; n_points (B,), in all; finished (B, 1, C), the sum of what the
        clusters found left; refused (B, M, 1), log of how surely each point was refused by them.
        """
        anchor = self._anchor(features.promise, refused, mask)
        question = Question(mask[:, None], n_points, finished, anchor)
        guesses, decoder_slots = self.guess(features, question)
        logits = torch.where(mask, guesses[-1].logits[:, 0], -torch.inf)
        claimed = claim(logits, mask, self.config.min_share * n_points)
        summary = self.summary(features.pool, claimed[:, None], n_points)
        first, last = guesses[0].belief, guesses[-1].belief
        return Found(claimed, logits, first, last, decoder_slots, summary)

    def _encoding(self, state: State) -> Encoding:
        """The last encoding, or a new one of what remains where it is time for one."""
        every, turn = self.config.encode_every, len(state.commits)
        if turn and not (every and turn % every == 0):
            return cast(Encoding, state.encoded)
        left = compact(state.remaining)
        return Encoding(left, *self.encode(left.take(state.batch.points), left.mask))

    def finished(self, state: State) -> Tensor:
        return nothing_left(state)

    def replay(self, points: Tensor, commits: Sequence[Commit]) -> Tensor:
        place, logits = points[..., : self.located], []
        read: list[Tensor] = []  # the slots that gave the score at hand
        for commit in commits:
            kept = iter(commit.memory)
            slots = [next(kept) for _ in self.encoder]
            if not read or not all(map(torch.equal, read, slots)):
                read, score = slots, self._read_score(points, slots)
            decoder_slots = [next(kept) for _ in self.decoder]
            first, last = (Belief(*(next(kept) for _ in Belief._fields)) for _ in range(2))
            seen = score
            if self.decoder:
                seen = self._condition(score, place, first)
                for block, slot in zip(self.decoder, decoder_slots, strict=True):
                    seen = block.read(seen[:, 0], slot)[:, None]
                seen = self.norm_decoded(seen)
            logits.append(self._logits(seen, place, last)[:, 0])
        return torch.stack(logits, -1)

    # Training

    def loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        """The loss of the questions asked of each set, as the proposal wants them."""
        labels = require_labels(batch)
        if self.config.proposal == "anchor":
            return self._loss_from_anchors(batch, labels, generator)
        return self._loss_in_turn(batch, labels)

    def _loss_in_turn(self, batch: SetBatch, labels: Tensor) -> Tensor:
        """Minimum over the clusters that remain, averaged over the questions of each set.

        After a step the true cluster that fitted best is taken away, as if it had been found.
        """
        n_points, remaining, features = batch.mask.sum(1), batch.mask, None
        finished = batch.points.new_zeros(len(n_points), 1, self.config.width)
        total, counted = batch.points.new_zeros(()), batch.points.new_zeros(())
        for turn in range(self.config.questions):
            if features is None or (
                self.config.encode_every and turn % self.config.encode_every == 0
            ):
                features, _ = self.encode(batch.points, remaining)
            question = Question(remaining[:, None], n_points, finished, remaining[:, None])
            loss, best = self.step_loss(features, question, labels)
            total = total + loss
            counted = counted + present_clusters(labels, remaining, self.config.k_max).any(1).sum()
            if turn + 1 < self.config.questions:
                found = remaining & (labels == best[:, None])
                finished = finished + self.summary(features.pool, found[:, None], n_points)
                remaining = remaining & ~found
        return total / counted.clamp_min(1)

    def step_loss(
        self, features: Features, question: Question, labels: Tensor
    ) -> tuple[Tensor, Tensor]:
        """One step's loss, summed over the sets, and the cluster it fitted best (B,)."""
        remaining = question.remaining[:, 0]
        guesses, _ = self.guess(features, question)
        losses = [self._losses(features, remaining, labels, guess) for guess in guesses]
        easiest = [minimum_over_clusters(each, labels, remaining).sum() for each in losses]
        present = present_clusters(labels, remaining, self.config.k_max)
        best = torch.where(present, losses[-1].detach(), torch.inf).argmin(1)
        return _weigh(easiest), best

    def _losses(
        self, features: Features, remaining: Tensor, labels: Tensor, guess: Guess
    ) -> Tensor:
        """DAC's eq. 5 against every cluster: (B, K)."""
        k_max = self.config.k_max
        density = self._density(features, guess.belief)[:, 0]
        fit = -cluster_mean(density, labels, remaining, k_max)
        return membership_loss(guess.logits[:, 0], labels, remaining, k_max) + _tamed(fit)

    def _loss_from_anchors(
        self, batch: SetBatch, labels: Tensor, generator: Generator | None
    ) -> Tensor:
        """Each anchor is held against its own cluster; some clusters count as found before.

        All questions of a set share one encoding and are answered side by side.
        """
        features, _ = self.encode(batch.points, batch.mask)
        k_max, n_points = self.config.k_max, batch.mask.sum(1)
        anchors = draw_anchors(labels, batch.mask, self.config.questions, k_max, generator)
        members = one_hot(labels, k_max).transpose(1, 2) & batch.mask[:, None]  # (B, K, N)
        summaries = self.summary(features.pool, members, n_points)
        finished = anchors.finished.to(summaries) @ summaries  # (B, A, C)
        where = one_hot(anchors.point, batch.mask.shape[1]).to(batch.points)  # (B, A, N)
        question = Question(anchors.remaining, n_points, finished, where)
        return self.anchor_loss(features, question, anchors.target, anchors.judged)

    def anchor_loss(
        self, features: Features, question: Question, target: Tensor, judged: Tensor
    ) -> Tensor:
        """The mean loss of questions whose answers are known: target (B, A, N) bool.

        judged (B, A) bool: the anchors from which the network learns what promises well.
        """
        remaining, wanted = question.remaining, target.to(features.score)
        size = target.sum(2)  # (B, A), zero where the right answer is that nothing is left
        guesses, _ = self.guess(features, question)
        losses = []
        for guess in guesses:
            wrong = binary_cross_entropy_with_logits(guess.logits, wanted, reduction="none")
            missed = torch.where(remaining, wrong, 0.0).sum(2) / remaining.sum(2).clamp_min(1)
            density = self._density(features, guess.belief)
            fit = -torch.where(target, density, 0.0).sum(2) / size.clamp_min(1)
            losses.append((missed + _tamed(fit)).mean())
        found = torch.where(remaining, guesses[-1].logits.detach().sigmoid(), 0.0)
        promise = (question.anchor @ features.promise)[..., 0]  # (B, A)
        misjudged = binary_cross_entropy_with_logits(
            promise, overlap(found, wanted), weight=judged.to(promise)
        )
        return _weigh(losses) + 0.1 * misjudged


def _refused(state: State) -> Tensor:
    """How surely each point was refused by the clusters found: (B, N, 1), log of a probability."""
    if not state.commits:
        return state.batch.points.new_zeros(*state.remaining.shape, 1)
    wanted = torch.stack([commit.membership_logits for commit in state.commits], -1)
    return logsigmoid(-wanted).sum(-1, keepdim=True)


def _weigh(losses: list[Tensor]) -> Tensor:
    """The first guesses count too, by less: they only have to be good enough to be refined."""
    return losses[-1] + 0.3 * sum(losses[:-1], torch.zeros_like(losses[-1]))


def _tamed(fit: Tensor) -> Tensor:
    """Logarithmic growth above 8: a misplaced cluster must not drown the rest of the batch."""
    return torch.where(fit > 8, 8 + torch.log1p((fit - 8).clamp_min(0)), fit)
