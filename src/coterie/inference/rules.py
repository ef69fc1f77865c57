"""Rules that a finished clustering leaves behind: they give any point its cluster.

A rule is pointwise, so it serves the points of the set and new ones alike, in chunks of any size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor, no_grad

from coterie.functional.em import Gaussians, expectation_by_columns
from coterie.functional.partitions import stick_breaking
from coterie.inference.mixture import Mixture
from coterie.systems.protocol import Commit, Sequential


class Rule(Protocol):
    """Log-probabilities of k clusters for any point."""

    @property
    def device(self) -> torch.device:
        """Where the rule computes."""

    @property
    def n_clusters(self) -> int:
        """K."""

    def log_probabilities(self, points: Tensor) -> Tensor:
        """Points (M, D) -> (M, K) in float64, rows sum to one in probability."""

    def select(self, clusters: Tensor) -> "Rule":
        """The same rule with only these clusters (K',), in this order."""


@dataclass(frozen=True)
class MixtureRule:
    """The posterior of a mixture of Gaussians over the first columns of the points."""

    mixture: Gaussians

    @classmethod
    def of(cls, mixture: Mixture, device: str) -> "MixtureRule":
        """The rule of a mixture that was estimated in NumPy."""
        return cls(Gaussians(*(torch.from_numpy(part).to(device) for part in mixture)))

    @property
    def device(self) -> torch.device:
        return self.mixture.mean.device

    @property
    def n_clusters(self) -> int:
        return len(self.mixture.log_weight)

    def log_probabilities(self, points: Tensor) -> Tensor:
        return self._expectation(points)[0]

    def log_likelihood(self, points: Tensor) -> Tensor:
        """Log-density of each point: (M, D) -> (M,)."""
        return self._expectation(points)[1]

    def _expectation(self, points: Tensor) -> tuple[Tensor, Tensor]:
        columns = self.mixture.mean.shape[-1]
        return expectation_by_columns(points[:, :columns].double(), self.mixture)

    def select(self, clusters: Tensor) -> "MixtureRule":
        log_weight, mean, log_scale = (part[clusters] for part in self.mixture)
        return MixtureRule(Gaussians(log_weight.log_softmax(0), mean, log_scale))


@dataclass(frozen=True)
class ReplayRule:
    """The steps of the loop, taken again from what each of them kept.

    A point is offered to the clusters in the order in which they were found; the probability of a
    cluster is that of being claimed by it and by none before (stick breaking); the most probable
    one is the label. DAC gives a point to the first cluster that claims it; the two can differ
    where a claim is near 0.5, and labels that contradict their probabilities help nobody.
    """

    system: Sequential
    commits: tuple[Commit, ...]
    clusters: Tensor  # (K,), which of the commits, in which order

    @classmethod
    def of(cls, exact: Sequential, commits: tuple[Commit, ...]) -> "ReplayRule":
        """The rule of all commits, with the network that made them, now in float64.

        In float32 the last digits of a logit depend on how many points share a matrix product, and
        a rule must not depend on the chunk.
        """
        kept = tuple(
            replace(commit, memory=tuple(part.double() for part in commit.memory))
            for commit in commits
        )
        clusters = torch.arange(len(commits), device=commits[0].joined.device)
        return cls(exact, kept, clusters)

    @property
    def device(self) -> torch.device:
        return self.clusters.device

    @property
    def n_clusters(self) -> int:
        return len(self.clusters)

    @no_grad()
    def log_probabilities(self, points: Tensor) -> Tensor:
        points = points.double()[None]
        turns = stick_breaking(self.system.replay(points, self.commits)[0])
        return turns[:, self.clusters].log_softmax(-1)

    def select(self, clusters: Tensor) -> "ReplayRule":
        return replace(self, clusters=self.clusters[clusters])


@dataclass(frozen=True)
class BranchingRule:
    """Steps of which some were divided by a second look.

    The probability of a part is that of its cluster times that of the part within it.
    """

    trunk: ReplayRule
    branches: tuple[ReplayRule | None, ...]  # one for each cluster of the trunk
    clusters: Tensor  # (K,), which of the clusters and parts, in which order

    @classmethod
    def of(
        cls, exact: Sequential, commits: Sequence[Commit], parts: Sequence[tuple[Commit, ...]]
    ) -> "BranchingRule":
        """The rule of all commits, each with its parts, none where it is one cluster."""
        trunk = ReplayRule.of(exact, tuple(commits))
        branches = tuple(ReplayRule.of(exact, each) if each else None for each in parts)
        n_clusters = sum(len(each) or 1 for each in parts)
        return cls(trunk, branches, torch.arange(n_clusters, device=trunk.device))

    @property
    def device(self) -> torch.device:
        return self.clusters.device

    @property
    def n_clusters(self) -> int:
        return len(self.clusters)

    def log_probabilities(self, points: Tensor) -> Tensor:
        whole = self.trunk.log_probabilities(points).split(1, -1)
        turns = [
            cluster if branch is None else cluster + branch.log_probabilities(points)
            for cluster, branch in zip(whole, self.branches, strict=True)
        ]
        return torch.cat(turns, -1)[:, self.clusters].log_softmax(-1)

    def select(self, clusters: Tensor) -> "BranchingRule":
        return replace(self, clusters=self.clusters[clusters])
