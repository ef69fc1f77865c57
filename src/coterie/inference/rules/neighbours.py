"""Interpolation of a network's answers from the context to all other points.

A network that compares each point with hundreds of landmarks takes minutes for a million points; a
neighbour search among a thousand takes a second. The answers vary smoothly with the position of a
point, so they are interpolated between the nearest points of the context.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Tensor

from coterie.inference.rules.protocol import Rule

NEIGHBOURS = 3
SAME_PLACE = 1e-30  # a squared distance; at a point of the context its own answer dominates


@dataclass(frozen=True)
class NeighbourRule:
    """The answers of another rule for m points, interpolated by inverse squared distances.

    The neighbour search runs on the CPU, whatever the device of the other rule.
    """

    source: Rule
    places: cKDTree  # of the m points
    answers: Tensor  # (m, S), log-probabilities
    clusters: Tensor  # (K,), indices of the selected clusters among the S, in order

    @classmethod
    def of(cls, source: Rule, context: NDArray) -> "NeighbourRule":
        """The rule that interpolates the source's answers for the context (m, D)."""
        answers = source.log_probabilities(torch.from_numpy(context).to(source.device))
        answers = answers.double().cpu()
        return cls(source, cKDTree(context), answers, torch.arange(answers.shape[1]))

    @property
    def device(self) -> torch.device:
        return self.answers.device

    @property
    def n_clusters(self) -> int:
        return len(self.clusters)

    def log_probabilities(self, points: Tensor) -> Tensor:
        answers = interpolated(self.places, self.answers, points)
        return answers[:, self.clusters].log_softmax(1)

    def unwanted(self, points: Tensor) -> Tensor:
        """Points whose nearest point of the context is unwanted by the source."""
        return self._refused[self.places.query(points.numpy())[1]]

    def select(self, clusters: Tensor) -> "NeighbourRule":
        return replace(
            self,
            source=self.source.select(clusters.to(self.source.device)),
            clusters=self.clusters[clusters.to(self.device)],
        )

    @cached_property
    def _refused(self) -> Tensor:
        context = torch.from_numpy(np.asarray(self.places.data, dtype=np.float32))
        return self.source.unwanted(context.to(self.source.device)).cpu()


def interpolated(places: cKDTree, answers: Tensor, points: Tensor) -> Tensor:
    """Log-probabilities (m, S) at m places, at other points (M, D): (M, S)."""
    n_neighbours = min(NEIGHBOURS, len(answers))
    distance, index = places.query(points.numpy(), k=[*range(1, n_neighbours + 1)])
    square = torch.from_numpy(distance).square() + SAME_PLACE  # (M, neighbours)
    log_weight = (square[:, :1] / square).log().log_softmax(1)
    return (answers[index] + log_weight[..., None]).logsumexp(1)
