"""A rule for clusters of which some were divided by a second look."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from coterie.inference.rules.protocol import Rule
from coterie.inference.rules.replay import ReplayRule
from coterie.inference.rules.wrapped import FramedRule
from coterie.inference.second_look import Look
from coterie.systems.protocol import Sequential

HARDLY = 1e-3  # below this probability of the cluster, its parts are taken as equally probable


@dataclass(frozen=True)
class BranchingRule:
    """Clusters of which some were divided by a second look.

    The probability of a part is that of its cluster times that of the part within it.
    """

    trunk: ReplayRule
    branches: tuple[Rule | None, ...]  # one for each cluster of the trunk
    clusters: Tensor  # (K,), indices of the selected clusters and parts, in order

    @classmethod
    def of(
        cls, system: Sequential, looks: Sequence[Look], precision: torch.dtype = torch.float64
    ) -> "BranchingRule":
        """The rule for all clusters, each with the parts that a second look found."""
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
        """Points that fit none of the clusters of which a part is selected."""
        n_parts = [1 if branch is None else branch.n_clusters for branch in self.branches]
        owner = torch.arange(len(n_parts)).repeat_interleave(torch.tensor(n_parts))
        left = owner[self.clusters.cpu()].unique()
        return self.trunk.select(left.to(self.device)).unwanted(points)

    def select(self, clusters: Tensor) -> "BranchingRule":
        return replace(self, clusters=self.clusters[clusters])


def _within(branch: Rule, points: Tensor, log_share: Tensor) -> Tensor:
    """Log-probabilities (M, parts) of a cluster's parts, given those of the cluster itself (M,).

    For points (M, D) that hardly belong to the cluster the parts are equally probable: the error is
    negligible, and evaluating a branch costs as much as evaluating the trunk.
    """
    within = log_share.new_full((len(points), branch.n_clusters), -math.log(branch.n_clusters))
    relevant = log_share > math.log(HARDLY)
    within[relevant] = branch.log_probabilities(points[relevant])
    return within


def _branch(system: Sequential, look: Look, precision: torch.dtype) -> Rule | None:
    if not look.parts:
        return None
    rule = ReplayRule.of(system, look.parts, precision)
    return rule if look.frame is None else FramedRule(rule, look.frame)
