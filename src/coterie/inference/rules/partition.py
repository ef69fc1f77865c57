"""The rule of a partition of the context that no network and no density stands behind."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Tensor

from coterie.inference.rules.neighbours import LEAF, interpolated, n_used_columns

VOTERS = 10  # neighbours of a point of the context, whose clusters say how sure its own is
OWN_VOTE = 0.5  # of the probability: so a point of the context keeps its cluster
LEAST = 1e-6  # a probability


@dataclass(frozen=True)
class PartitionRule:
    """The clusters of m points, and between these those of the nearest ones.

    A point of the context has half of its probability in its own cluster and half in the clusters
    of its neighbours.
    """

    places: cKDTree  # of the m points, without the last columns where these are zero
    answers: Tensor  # (m, K), log-probabilities

    @classmethod
    def of(cls, labels: NDArray[np.integer], context: NDArray) -> "PartitionRule":
        """The rule of labels (m,) 0..K-1 for the context (m, D)."""
        context = context[:, : n_used_columns(context)]
        places = cKDTree(context, leafsize=LEAF)
        own = np.eye(int(labels.max()) + 1)[labels]
        n_voters = min(VOTERS, len(context))
        index = places.query(context, k=[*range(1, n_voters + 1)])[1]
        share = OWN_VOTE * own + (1 - OWN_VOTE) * own[index].mean(1)
        share = np.maximum(share, LEAST)
        return cls(places, torch.from_numpy(np.log(share / share.sum(1, keepdims=True))))

    @property
    def device(self) -> torch.device:
        return self.answers.device

    @property
    def n_clusters(self) -> int:
        return self.answers.shape[1]

    def log_probabilities(self, points: Tensor) -> Tensor:
        return interpolated(self.places, self.answers, points.cpu()).log_softmax(1)

    def unwanted(self, points: Tensor) -> Tensor:
        """No point: every one has a nearest."""
        return torch.zeros(len(points), dtype=torch.bool)

    def select(self, clusters: Tensor) -> "PartitionRule":
        return replace(self, answers=self.answers[:, clusters.cpu()].log_softmax(1))
