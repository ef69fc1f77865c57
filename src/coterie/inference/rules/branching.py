"""Steps of which some were divided by a second look, as a rule."""

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

HARDLY = 1e-3  # of a point: so much of it may be shared out among the parts of a cluster unseen


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
    return rule if look.frame is None else FramedRule(rule, look.frame)
