"""What a rule is: it gives any point its cluster.

A rule is pointwise, so it serves the points of the set and new ones alike, in chunks of any size.
"""

from typing import Protocol

import torch
from torch import Tensor


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
