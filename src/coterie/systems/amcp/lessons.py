"""The training loss of AMCP: queries for clusters of labelled sets."""

import torch
from torch import Generator, Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from coterie.data.batch import SetBatch
from coterie.functional.anchors import draw_anchors
from coterie.functional.diffusion import Walks, drop_walks
from coterie.functional.matching import (
    cluster_mean,
    membership_loss,
    minimum_over_clusters,
    overlap,
    present_clusters,
)
from coterie.functional.partitions import one_hot
from coterie.systems.amcp.network import AMCPNetwork
from coterie.systems.amcp.parts import Features, Guess, Question
from coterie.systems.protocol import require_labels


class Lessons:
    """The training losses of a network that the caller owns."""

    def __init__(self, network: AMCPNetwork) -> None:
        self.network, self.config = network, network.config

    def loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        """The mean loss of the queries for each set, according to the kind of proposal."""
        labels = require_labels(batch)
        if self.config.proposal == "anchor":
            return self._loss_from_anchors(batch, labels, generator)
        return self._loss_in_turn(batch, labels)

    def _loss_in_turn(self, batch: SetBatch, labels: Tensor) -> Tensor:
        """Minimum over the remaining clusters, averaged over the queries of each set.

        After a step the true cluster with the smallest loss is removed, as if it had been found.
        """
        n_points, remaining, features = batch.mask.sum(1), batch.mask, None
        finished = batch.points.new_zeros(len(n_points), 1, self.config.width)
        total, counted = batch.points.new_zeros(()), batch.points.new_zeros(())
        for turn in range(self.config.questions):
            if features is None or (
                self.config.encode_every and turn % self.config.encode_every == 0
            ):
                features, _ = self.network.encode(batch.points, remaining)
            question = Question(remaining[:, None], n_points, finished, remaining[:, None])
            loss, best = self.step_loss(features, question, labels)
            total = total + loss
            counted = counted + present_clusters(labels, remaining, self.config.k_max).any(1).sum()
            if turn + 1 < self.config.questions:
                found = remaining & (labels == best[:, None])
                finished = finished + self.network.summary(features.pool, found[:, None], n_points)
                remaining = remaining & ~found
        return total / counted.clamp_min(1)

    def step_loss(
        self, features: Features, question: Question, labels: Tensor
    ) -> tuple[Tensor, Tensor]:
        """One step's loss, summed over the sets, and the cluster it fitted best (B,)."""
        remaining = question.remaining[:, 0]
        guesses, _ = self.network.guess(features, question)
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
        density = self.network.log_density(features, guess.belief)[:, 0]
        fit = -cluster_mean(density, labels, remaining, k_max)
        members = membership_loss(guess.logits[:, 0], labels, remaining, k_max)
        return members + self.config.density_weight * _tamed(fit)

    def _loss_from_anchors(
        self, batch: SetBatch, labels: Tensor, generator: Generator | None
    ) -> Tensor:
        """Each anchor is compared with its own cluster, given that some clusters are found already.

        All queries of a set share one encoding and are answered in parallel.
        """
        features, _ = self.network.encode(batch.points, batch.mask)
        if features.walks is not None and self.config.walk_dropout:
            features = features._replace(walks=self._drop_walks(features.walks, generator))
        k_max, n_points = self.config.k_max, batch.mask.sum(1)
        anchors = draw_anchors(labels, batch.mask, self.config.questions, k_max, generator)
        members = one_hot(labels, k_max).transpose(1, 2) & batch.mask[:, None]  # (B, K, N)
        summaries = self.network.summary(features.pool, members, n_points)
        finished = anchors.finished.to(summaries) @ summaries  # (B, A, C)
        where = one_hot(anchors.point, batch.mask.shape[1]).to(batch.points)  # (B, A, N)
        question = Question(anchors.remaining, n_points, finished, where)
        return self.anchor_loss(features, question, anchors.target, anchors.judged)

    def _drop_walks(self, walks: Walks, generator: Generator | None) -> Walks:
        """Mask the walks of some sets.

        Walks carry no information where clusters overlap in many columns, and a network that is
        always given them does not learn to use anything else.
        """
        ticket = torch.rand(len(walks.degree), generator=generator, device=walks.degree.device)
        return drop_walks(walks, ticket < self.config.walk_dropout)

    def anchor_loss(
        self, features: Features, question: Question, target: Tensor, judged: Tensor
    ) -> Tensor:
        """The mean loss of queries with known targets (B, A, N) bool.

        judged (B, A) bool: the anchors on which the promise is trained.
        """
        remaining, wanted = question.remaining, target.to(features.score)
        size = target.sum(2)  # (B, A), zero if the right answer is an empty cluster
        guesses, _ = self.network.guess(features, question)
        losses = []
        for guess in guesses:
            wrong = binary_cross_entropy_with_logits(guess.logits, wanted, reduction="none")
            missed = torch.where(remaining, wrong, 0.0).sum(2) / remaining.sum(2).clamp_min(1)
            density = self.network.log_density(features, guess.belief)
            fit = -torch.where(target, density, 0.0).sum(2) / size.clamp_min(1)
            losses.append((missed + self.config.density_weight * _tamed(fit)).mean())
            if self.config.overlap_weight:
                claimed = torch.where(remaining, guess.logits.sigmoid(), 0.0)
                unmatched = torch.where(size > 0, 1 - overlap(claimed, wanted), 0.0)
                losses[-1] = losses[-1] + self.config.overlap_weight * unmatched.mean()
        found = torch.where(remaining, guesses[-1].logits.detach().sigmoid(), 0.0)
        promise = (question.anchor @ features.promise)[..., 0]  # (B, A)
        misjudged = binary_cross_entropy_with_logits(
            promise, overlap(found, wanted), weight=judged.to(promise)
        )
        return _weigh(losses) + 0.1 * misjudged


def _weigh(losses: list[Tensor]) -> Tensor:
    """The last guess in full, earlier ones with less weight: they only serve refinement."""
    return losses[-1] + 0.3 * sum(losses[:-1], torch.zeros_like(losses[-1]))


def _tamed(fit: Tensor) -> Tensor:
    """Logarithmic growth above 8: a misplaced cluster must not dominate the batch."""
    return torch.where(fit > 8, 8 + torch.log1p((fit - 8).clamp_min(0)), fit)
