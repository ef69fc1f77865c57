"""What a clustering is, once it is done."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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

    labels: (n,), 0..k-1 by falling size; probabilities: (n, k), rows sum to 1; log_likelihood: mean
    per point of the context, in the columns that the network read, where the system has a density;
    steps: how the loop went; warnings: what to mistrust.
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
