"""Rules that a finished clustering leaves behind: they give any point its cluster.

A rule is pointwise, so it serves the points of the set and new ones alike, in chunks of any size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import torch
from scipy.special import chdtri
from torch import Tensor, no_grad
from torch.nn.functional import logsigmoid

from coterie.functional.em import Gaussians, expectation_by_columns
from coterie.functional.partitions import stick_breaking
from coterie.inference.mixture import Mixture
from coterie.inference.second_look import Frame, Look
from coterie.systems.protocol import Commit, Sequential

RARE = 1e-4  # of a cluster's own points: so many may be taken for noise
HARDLY = 1e-3  # of a point: so much of it may be shared out among the parts of a cluster unseen
ROUND_OFF = 1e-3  # between logits of the loop, in float32, and of the rule


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

    def unwanted(self, points: Tensor) -> Tensor:
        """Which points no cluster wants, however probable it is among the K: (M, D) -> (M,)."""

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

    def unwanted(self, points: Tensor) -> Tensor:
        """Those farther from every cluster than all but RARE of its own points would be."""
        columns = self.mixture.mean.shape[-1]
        points = points[:, :columns].double()
        nearest = points.new_full((len(points),), torch.inf)
        for mean, log_scale in zip(self.mixture.mean, self.mixture.log_scale, strict=True):
            distance = ((points - mean) * (-log_scale).exp()).square().sum(1)
            nearest = torch.minimum(nearest, distance)
        return nearest > chdtri(columns, RARE)  # squared distances are chi-square

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
    precision: torch.dtype

    @classmethod
    def of(
        cls,
        system: Sequential,
        commits: tuple[Commit, ...],
        precision: torch.dtype = torch.float64,
    ) -> "ReplayRule":
        """The rule of all commits, with the network that made them, now in the precision given.

        In float32 the last digits of a logit depend on how many points share a matrix product. A
        rule that is asked about points in chunks must not, and needs float64.
        """
        kept = tuple(
            replace(commit, memory=tuple(part.to(precision) for part in commit.memory))
            for commit in commits
        )
        clusters = torch.arange(len(commits), device=commits[0].joined.device)
        return cls(system, kept, clusters, precision)

    @property
    def device(self) -> torch.device:
        return self.clusters.device

    @property
    def n_clusters(self) -> int:
        return len(self.clusters)

    def log_probabilities(self, points: Tensor) -> Tensor:
        return stick_breaking(self._claims(points))[:, self.clusters].log_softmax(-1)

    def unwanted(self, points: Tensor) -> Tensor:
        """Those that are more likely refused by all clusters in turn than claimed by any.

        A step that was undecided took points below one half; for it that counts as one half.
        """
        begins = torch.stack([_lowest_claim(commit) for commit in self.commits])
        claims = (self._claims(points) - begins)[:, self.clusters]
        return logsigmoid(-claims).sum(1) > math.log(0.5)

    @no_grad()
    def _claims(self, points: Tensor) -> Tensor:
        """Membership logits of all steps: (M, D) -> (M, S)."""
        return self.system.replay(points.to(self.precision)[None], self.commits)[0].double()

    def select(self, clusters: Tensor) -> "ReplayRule":
        return replace(self, clusters=self.clusters[clusters])


@dataclass(frozen=True)
class RuleThrough:
    """Another rule, which is shown or says something else where a subclass has it so."""

    rule: Rule

    @property
    def device(self) -> torch.device:
        return self.rule.device

    @property
    def n_clusters(self) -> int:
        return self.rule.n_clusters

    def log_probabilities(self, points: Tensor) -> Tensor:
        return self.rule.log_probabilities(points)

    def unwanted(self, points: Tensor) -> Tensor:
        return self.rule.unwanted(points)

    def select(self, clusters: Tensor) -> Self:
        return replace(self, rule=self.rule.select(clusters))


@dataclass(frozen=True)
class LensRule(RuleThrough):
    """A rule that reads points in a frame of its own."""

    lens: Frame

    def log_probabilities(self, points: Tensor) -> Tensor:
        return super().log_probabilities(self._seen(points))

    def unwanted(self, points: Tensor) -> Tensor:
        return super().unwanted(self._seen(points))

    def _seen(self, points: Tensor) -> Tensor:
        return torch.from_numpy(self.lens(points.cpu().numpy())).to(self.device)


@dataclass(frozen=True)
class BranchingRule:
    """Steps of which some were divided by a second look.

    The probability of a part is that of its cluster times that of the part within it.
    """

    trunk: ReplayRule
    branches: tuple[Rule | None, ...]  # one for each cluster of the trunk
    clusters: Tensor  # (K,), which of the clusters and parts, in which order

    @classmethod
    def of(
        cls, system: Sequential, looks: Sequence[Look], precision: torch.dtype = torch.float64
    ) -> "BranchingRule":
        """The rule of all clusters, each with the parts that a second look saw in it."""
        trunk = ReplayRule.of(system, tuple(look.whole for look in looks), precision)
        branches = tuple(_branch(system, look, precision) for look in looks)
        n_clusters = sum(len(look.parts) or 1 for look in looks)
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
            cluster if branch is None else cluster + _within(branch, points, cluster[:, 0])
            for cluster, branch in zip(whole, self.branches, strict=True)
        ]
        return torch.cat(turns, -1)[:, self.clusters].log_softmax(-1)

    def unwanted(self, points: Tensor) -> Tensor:
        """Those that none of the divided clusters wants of which a part is left."""
        n_parts = [1 if branch is None else branch.n_clusters for branch in self.branches]
        owner = torch.arange(len(n_parts)).repeat_interleave(torch.tensor(n_parts))
        left = owner[self.clusters.cpu()].unique()
        return self.trunk.select(left.to(self.device)).unwanted(points)

    def select(self, clusters: Tensor) -> "BranchingRule":
        return replace(self, clusters=self.clusters[clusters])


def _within(branch: Rule, points: Tensor, log_share: Tensor) -> Tensor:
    """The parts of a cluster for points (M, D) of which it has a share (M,): (M, parts).

    What hardly belongs to the cluster belongs to its parts alike: nobody will ask, and a branch
    costs as much as the trunk.
    """
    within = log_share.new_full((len(points), branch.n_clusters), -math.log(branch.n_clusters))
    asked = log_share > math.log(HARDLY)
    within[asked] = branch.log_probabilities(points[asked])
    return within


def _branch(system: Sequential, look: Look, precision: torch.dtype) -> Rule | None:
    if not look.parts:
        return None
    rule = ReplayRule.of(system, look.parts, precision)
    return rule if look.lens is None else LensRule(rule, look.lens)


def _lowest_claim(commit: Commit) -> Tensor:
    """The logit from which on a step took points: zero, or less where it was undecided."""
    lowest = commit.membership_logits[commit.joined].min().double()
    return lowest.clamp_max(0) - ROUND_OFF * (lowest < 0)
