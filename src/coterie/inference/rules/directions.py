"""Clusters of directions: a point joins the centre with which its vector has the largest cosine."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize

from coterie.functional.spherical import spherical_step, sum_by_label

STEPS = 10
SHARPNESS = 20.0  # log-odds for a unit of cosine
ROUND_OFF = 1e-6


@dataclass(frozen=True)
class DirectionRule:
    """Centres of unit length, and how far from each its own points reach.

    centres: (K, C) float64; reach: (K,), the smallest cosine of a centre and a point of its own.
    """

    centres: Tensor
    reach: Tensor

    @classmethod
    def of(cls, points: Tensor, labels: Tensor, n_clusters: int) -> "DirectionRule":
        """The rule of clusters of points (n, C) after some steps of spherical k-means.

        labels (n,) say where it starts, -1 for points that wait for the first step; clusters
        without a point at the end are left out.
        """
        unit = normalize(points.double(), dim=-1)
        known = labels >= 0
        centres = normalize(sum_by_label(unit[known], labels[known], n_clusters), dim=-1)
        for _ in range(STEPS):
            centres = spherical_step(unit, centres).centres
        cosines, labels = (unit @ centres.T).max(1)
        reach = cosines.new_ones(n_clusters).scatter_reduce(0, labels, cosines, "amin")
        occupied = labels.unique()
        return cls(centres[occupied], reach[occupied])

    @property
    def device(self) -> torch.device:
        return self.centres.device

    @property
    def n_clusters(self) -> int:
        return len(self.centres)

    def log_probabilities(self, points: Tensor) -> Tensor:
        return (SHARPNESS * self._cosines(points)).log_softmax(1)

    def unwanted(self, points: Tensor) -> Tensor:
        """Points farther from every centre than all fitted points of its cluster."""
        return (self._cosines(points) < self.reach - ROUND_OFF).all(1)

    def select(self, clusters: Tensor) -> "DirectionRule":
        return DirectionRule(self.centres[clusters], self.reach[clusters])

    def _cosines(self, points: Tensor) -> Tensor:
        """(M, C) -> (M, K)."""
        return normalize(points.double(), dim=-1) @ self.centres.T
