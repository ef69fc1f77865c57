"""The contract of a cluster's density."""

from typing import Protocol

from torch import Generator, Tensor


class NoMarginal(ValueError):
    """A density over some columns was asked about points of fewer."""


class Density(Protocol):
    """The density of one cluster in each of B sets."""

    def log_prob(self, points: Tensor) -> Tensor:
        """Log-density of points (B, N, D), in their dtype: (B, N).

        Points of fewer columns than the density has are judged by its marginal over the first
        columns, where it has one; other densities raise `NoMarginal`.
        """

    def sample(self, n: int, generator: Generator | None = None) -> Tensor:
        """n points of each cluster: (B, n, D)."""

    def of_sets(self, sets: slice) -> "Density":
        """The density in some of the sets."""

    def refitted(self, points: Tensor) -> "Density | None":
        """A density of the same kind, estimated from points (N, D); None where it has no such."""
