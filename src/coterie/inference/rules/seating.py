"""One more point at the seats of a point-wise system, as a rule."""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, no_grad

from coterie.systems.protocol import Commit, PointWise


@dataclass(frozen=True)
class SeatingRule:
    """Where a point would sit if it came last, given the sums of the clusters.

    The points of the set are seated once more, each given all of them, itself included: a rule
    cannot tell them from new ones.
    """

    system: PointWise
    sums: Tensor  # (K, P), of all clusters, whether or not they are among those below
    clusters: Tensor  # (K',), which of the clusters, in which order
    precision: torch.dtype

    @classmethod
    def of(
        cls,
        system: PointWise,
        commits: tuple[Commit, ...],
        precision: torch.dtype = torch.float64,
    ) -> "SeatingRule":
        """The rule of all commits to one set, with the system in that precision.

        As for `ReplayRule`, chunks must not change the answer, which takes float64.
        """
        memory = (
            replace(commit, memory=tuple(part.to(precision) for part in commit.memory))
            for commit in commits
        )
        sums = system.sums(tuple(memory))[0]
        return cls(system, sums, torch.arange(len(sums), device=sums.device), precision)

    @property
    def device(self) -> torch.device:
        return self.clusters.device

    @property
    def n_clusters(self) -> int:
        return len(self.clusters)

    def log_probabilities(self, points: Tensor) -> Tensor:
        return self._seats(points)[:, self.clusters].log_softmax(-1)

    def unwanted(self, points: Tensor) -> Tensor:
        """Those that would rather begin a cluster of their own than join any."""
        return self._seats(points)[:, -1] > math.log(0.5)

    @no_grad()
    def _seats(self, points: Tensor) -> Tensor:
        """(M, D) -> (M, K + 1), a new cluster at last."""
        return self.system.seat(points.to(self.precision)[None], self.sums[None])[0].double()

    def select(self, clusters: Tensor) -> "SeatingRule":
        return replace(self, clusters=self.clusters[clusters])
