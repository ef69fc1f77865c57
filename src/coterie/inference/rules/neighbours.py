"""What a network says of the context, carried to all other points by their neighbours in it.

A network that compares each point with hundreds of landmarks takes minutes for a million points; a
search among a thousand takes a second. Its answers change as smoothly as the points lie, so a point
between others is given what these were given.
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
SAME_PLACE = 1e-30  # a squared distance: a point of the context is its own neighbour, and no other


@dataclass(frozen=True)
class NeighbourRule:
    """The answers of another rule to m points, weighted by the inverse of their squared distances.

    The points are looked up on the CPU, wherever the other rule computes.
    """

    source: Rule
    places: cKDTree  # of the m points
    answers: Tensor  # (m, S), log-probabilities
    clusters: Tensor  # (K,), which of the S, in which order

    @classmethod
    def of(cls, source: Rule, context: NDArray) -> "NeighbourRule":
        """The rule that knows what the source says of the context (m, D)."""
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
        n_neighbours = min(NEIGHBOURS, len(self.answers))
        distance, index = self.places.query(points.numpy(), k=[*range(1, n_neighbours + 1)])
        square = torch.from_numpy(distance).square() + SAME_PLACE  # (M, neighbours)
        log_weight = (square[:, :1] / square).log().log_softmax(1)
        answers = (self.answers[index] + log_weight[..., None]).logsumexp(1)
        return answers[:, self.clusters].log_softmax(1)

    def unwanted(self, points: Tensor) -> Tensor:
        """Those whose nearest point of the context is."""
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
