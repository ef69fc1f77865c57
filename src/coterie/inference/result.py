"""What a clustering is, once it is done."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NOISE = -1  # the label of a point that no cluster wants


@dataclass(frozen=True)
class Step:
    """One step of the loop: which points it claimed, and how sure it was.

    claimed: indices of the points that joined; offered: indices of the points that were still
    without a cluster; probabilities: the membership probability of each offered point.
    """

    claimed: NDArray[np.intp]
    offered: NDArray[np.intp]
    probabilities: NDArray[np.float32]


@dataclass(frozen=True)
class Clustering:
    """A finished clustering of n points into k clusters.

    labels: (n,), 0..k-1 by falling size, -1 for noise where that was asked for; probabilities:
    (n, k), given that the point belongs to one of the clusters, so rows sum to 1; log_likelihood:
    mean per point of the context, in the columns that the network read, where the system has a
    density, before clusters were dissolved, joined or cut because the user wished it; steps: how
    the loop went; warnings: what to mistrust.
    """

    labels: NDArray[np.intp]
    probabilities: NDArray[np.float64]
    log_likelihood: float | None
    steps: tuple[Step, ...]
    warnings: tuple[str, ...] = ()

    @property
    def n_clusters(self) -> int:
        """k, the number of clusters."""
        return self.probabilities.shape[1]

    @property
    def confidence(self) -> NDArray[np.float64]:
        """The probability of each point's own cluster (n,)."""
        return own_probability(self.labels, self.probabilities)

    def fate(self, step: Step) -> int:
        """The cluster that most points of a step ended in; noise where all did."""
        ended = self.labels[step.claimed]
        inside = ended[ended != NOISE]
        return int(np.bincount(inside).argmax()) if len(inside) else NOISE


def own_probability(
    labels: NDArray[np.intp], probabilities: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of probabilities (n, k), that of each label (n,); zero for noise."""
    own = np.take_along_axis(probabilities, np.maximum(labels, 0)[:, None], 1)[:, 0]
    return np.where(labels == NOISE, 0.0, own)
