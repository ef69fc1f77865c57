"""The posterior of a mixture of a network's densities as a rule."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Generator, Tensor, no_grad

from coterie.densities.protocol import Density
from coterie.systems.protocol import Commit, Sequential

RARE = 1e-4  # the share of a cluster's own points that may be taken for noise
CHUNK = 8192  # points at a time: a density has hidden layers for each


@dataclass(frozen=True)
class PosteriorRule:
    """K clusters, each with the density that a step of a system left in its memory.

    log_weight: (K,), the log of the clusters' shares; least: (K,), the log-density below which a
    point is too rare for a cluster.
    """

    system: Sequential
    commits: tuple[Commit, ...]
    log_weight: Tensor
    least: Tensor

    @classmethod
    @no_grad()
    def of(
        cls,
        system: Sequential,
        commits: Sequence[Commit],
        log_weight: Tensor,
        *,
        noise: bool = False,
    ) -> "PosteriorRule":
        """The rule in float64, as the system must be.

        noise: whether points may be too rare for a cluster, less probable than all of 1 / RARE
        that are drawn from its density.
        """
        kept = tuple(
            replace(commit, memory=tuple(part.double() for part in commit.memory), density=None)
            for commit in commits
        )
        rule = cls(
            system, kept, log_weight.double(), torch.full_like(log_weight.double(), -torch.inf)
        )
        return replace(rule, least=rule._rarest()) if noise else rule

    @property
    def device(self) -> torch.device:
        return self.log_weight.device

    @property
    def n_clusters(self) -> int:
        return len(self.log_weight)

    @property
    def densities(self) -> tuple[Density, ...]:
        """The densities of the clusters, made again from what the steps kept."""
        made = getattr(self.system, "density", None)
        found = [None if made is None else made(commit) for commit in self.commits]
        if any(density is None for density in found):
            raise TypeError("a posterior needs a system whose clusters have densities")
        return tuple(density for density in found if density is not None)

    def log_probabilities(self, points: Tensor) -> Tensor:
        return (self._log_density(points) + self.log_weight).log_softmax(1)

    def unwanted(self, points: Tensor) -> Tensor:
        """Points that are too rare for every cluster."""
        return (self._log_density(points) < self.least).all(1)

    def select(self, clusters: Tensor) -> "PosteriorRule":
        commits = tuple(self.commits[cluster] for cluster in clusters.tolist())
        log_weight = self.log_weight[clusters].log_softmax(0)
        return PosteriorRule(self.system, commits, log_weight, self.least[clusters])

    @no_grad()
    def _log_density(self, points: Tensor) -> Tensor:
        """(M, D) -> (M, K)."""
        densities = self.densities
        chunks = points.double().split(CHUNK)
        each = [[density.log_prob(part[None])[0] for density in densities] for part in chunks]
        return torch.cat([torch.stack(columns, 1) for columns in each])

    def _rarest(self) -> Tensor:
        generator = Generator(self.device).manual_seed(0)
        drawn = [density.sample(round(1 / RARE), generator) for density in self.densities]
        pairs = zip(self.densities, drawn, strict=True)
        return torch.stack([density.log_prob(points).min() for density, points in pairs])
