"""Random numbers for a batch, and cluster labels, drawn before the positions."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Generator, Tensor


@dataclass(frozen=True)
class Draws:
    """Random numbers from one generator, on its device."""

    generator: Generator

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers."""
        return torch.randn(shape, generator=self.generator, device=self.generator.device)

    def uniform(self, low: float, high: float, *shape: int) -> Tensor:
        """Numbers between low and high."""
        unit = torch.rand(shape, generator=self.generator, device=self.generator.device)
        return low + (high - low) * unit

    def chance(self, probability: float, *shape: int) -> Tensor:
        """True with the given probability."""
        return self.uniform(0, 1, *shape) < probability

    def choice(self, n: int, *shape: int) -> Tensor:
        """Integers below n."""
        return (n * self.uniform(0, 1, *shape)).long().clamp_max(n - 1)

    def log_uniform(self, low: float, high: float, *shape: int) -> Tensor:
        """Numbers between low and high, their logarithm uniform."""
        return self.uniform(math.log(low), math.log(high), *shape).exp()


class Plan(NamedTuple):
    """The cluster of each point: B sets of up to N points in up to K clusters."""

    labels: Tensor  # (B, N), -1 for padding
    mask: Tensor  # (B, N)
    n_clusters: Tensor  # (B,)
    exists: Tensor  # (B, K)

    @property
    def shape(self) -> tuple[int, int, int]:
        """B, N, K."""
        return (*self.labels.shape, self.exists.shape[1])


class Drawn(NamedTuple):
    """A family's sets: points (B, N, D), and labels (B, N), -1 for padding."""

    points: Tensor
    labels: Tensor


def plan_sets(n_sets: int, n_max: int, k_max: int, draws: Draws, *, alone: float = 0.07) -> Plan:
    """Draw the sizes, the numbers of clusters and the labels of sets.

    Some sets are a single cluster, most have a few, some have up to k_max, with at least twelve
    points each on average. Cluster shares range from equal to very unequal. alone: the share of
    sets with a single cluster.
    """
    small = draws.log_uniform(0.05 * n_max, n_max, n_sets)
    n_points = torch.where(
        draws.chance(0.4, n_sets), small, draws.uniform(0.3 * n_max, n_max, n_sets)
    )
    n_points = n_points.round().clamp_min(1)
    few, many = draws.uniform(2, 7, n_sets), draws.log_uniform(5, k_max + 1, n_sets)
    k = torch.where(draws.chance(0.6, n_sets), few, many).floor()
    k = torch.where(draws.chance(alone, n_sets), 1.0, k)
    n_clusters = torch.minimum(k, (n_points / 12).floor()).clamp(1, k_max).long()
    exists = torch.arange(k_max, device=k.device) < n_clusters[:, None]  # (B, K)
    mask = torch.arange(n_max, device=k.device) < n_points[:, None]  # (B, N)

    unequal = draws.chance(0.7, n_sets, 1) * draws.uniform(0, 1.1, n_sets, 1)
    share = (unequal * draws.normal(n_sets, k_max)).clamp(-2.3, 2.3).exp()
    ends = torch.where(exists, share, 0.0).cumsum(1)
    ticket = draws.uniform(0, 1, n_sets, n_max) * ends[:, -1:]
    labels = torch.searchsorted(ends, ticket, right=True)
    labels = torch.minimum(labels, n_clusters[:, None] - 1)
    return Plan(torch.where(mask, labels, -1), mask, n_clusters, exists)
