"""The steps of the loop as a rule: each is taken again from what it kept."""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, no_grad
from torch.nn.functional import logsigmoid

from coterie.functional.partitions import stick_breaking
from coterie.systems.protocol import Commit, Sequential, cluster_numbers

ROUND_OFF = 1e-3  # between logits of the loop, in float32, and of the rule


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
    served: Tensor  # (S,), the cluster that each step served
    n_served: int
    clusters: Tensor  # (K,), which of the clusters, in which order
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
        rule that is asked about points in chunks must not, and needs float64. Densities are left
        out: the system makes them from the memory, in that precision too.
        """
        kept = tuple(
            replace(
                commit, memory=tuple(part.to(precision) for part in commit.memory), density=None
            )
            for commit in commits
        )
        served = cluster_numbers(commits)
        n_served = int(served.max()) + 1
        return cls(system, kept, served, n_served, torch.arange(n_served).to(served), precision)

    @property
    def device(self) -> torch.device:
        return self.clusters.device

    @property
    def n_clusters(self) -> int:
        return len(self.clusters)

    def log_probabilities(self, points: Tensor) -> Tensor:
        taken = stick_breaking(self._claims(points))  # (M, S)
        if self.n_served < len(self.served):  # several steps served one cluster
            each = (taken[:, self.served == cluster] for cluster in range(self.n_served))
            taken = torch.stack([steps.logsumexp(1) for steps in each], 1)
        return taken[:, self.clusters].log_softmax(-1)

    def unwanted(self, points: Tensor) -> Tensor:
        """Those that are more likely refused by all clusters in turn than claimed by any.

        A step that was undecided took points below one half; for it that counts as one half.
        """
        begins = torch.stack([_lowest_claim(commit) for commit in self.commits])
        claims = (self._claims(points) - begins)[:, torch.isin(self.served, self.clusters)]
        return logsigmoid(-claims).sum(1) > math.log(0.5)

    @no_grad()
    def _claims(self, points: Tensor) -> Tensor:
        """Membership logits of all steps: (M, D) -> (M, S)."""
        return self.system.replay(points.to(self.precision)[None], self.commits)[0].double()

    def select(self, clusters: Tensor) -> "ReplayRule":
        return replace(self, clusters=self.clusters[clusters])


def _lowest_claim(commit: Commit) -> Tensor:
    """The logit from which on a step took points: zero, or less where it was undecided."""
    lowest = commit.membership_logits[commit.joined].min().double()
    return lowest.clamp_max(0) - ROUND_OFF * (lowest < 0)
