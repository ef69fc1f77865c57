"""The answer of a direct system as a rule."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, no_grad

from coterie.systems.protocol import Direct, Memberships


@dataclass(frozen=True)
class DirectRule:
    """What a direct system reads of any point from the memory of its answer."""

    system: Direct
    memory: tuple[Tensor, ...]
    clusters: Tensor  # (K,), which of the system's clusters, in which order
    precision: torch.dtype

    @classmethod
    def of(
        cls, system: Direct, memberships: Memberships, precision: torch.dtype = torch.float64
    ) -> "DirectRule":
        """The rule of the clusters that the first set has, with the system in that precision.

        As for `ReplayRule`, chunks must not change the answer, which takes float64.
        """
        memory = tuple(
            part.to(precision) if part.is_floating_point() else part for part in memberships.memory
        )
        return cls(system, memory, present_clusters(memberships), precision)

    @property
    def device(self) -> torch.device:
        return self.clusters.device

    @property
    def n_clusters(self) -> int:
        return len(self.clusters)

    @no_grad()
    def log_probabilities(self, points: Tensor) -> Tensor:
        read = self.system.read(points.to(self.precision)[None], self.memory)[0].double()
        return read[:, self.clusters].log_softmax(-1)

    def unwanted(self, points: Tensor) -> Tensor:
        """None: memberships of a direct system always sum to one."""
        return torch.zeros(len(points), dtype=torch.bool, device=self.device)

    def select(self, clusters: Tensor) -> "DirectRule":
        return replace(self, clusters=self.clusters[clusters])


def present_clusters(memberships: Memberships) -> Tensor:
    """The clusters that the first set has: (K,)."""
    present = memberships.log_probabilities[0].isfinite().any(0).nonzero()[:, 0]
    if not len(present):
        raise ValueError("the network finds no cluster at all: its weights are damaged")
    return present
