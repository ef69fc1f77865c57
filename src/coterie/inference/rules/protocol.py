"""The interface of a rule, which assigns any point to a cluster.

A rule is pointwise, so it applies to the points of the set and to new ones, in chunks of any size.
"""

from typing import Protocol

import torch
from torch import Tensor


class Rule(Protocol):
    """Log-probabilities of k clusters for any point."""

    @property
    def device(self) -> torch.device:
        """The device on which the rule computes."""

    @property
    def n_clusters(self) -> int:
        """K."""

    def log_probabilities(self, points: Tensor) -> Tensor:
        """Points (M, D) -> (M, K) in float64, rows sum to one in probability."""

    def unwanted(self, points: Tensor) -> Tensor:
        """Which points fit no cluster, whatever their probabilities among the K: (M, D) -> (M,)."""

    def select(self, clusters: Tensor) -> "Rule":
        """The same rule with only these clusters (K',), in this order."""
