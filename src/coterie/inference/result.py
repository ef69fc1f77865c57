"""The result of a clustering."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NOISE = -1  # the label of a point that fits no cluster
NEARLY = 0.5  # of the probability of the number that stands: so much makes another worth a word


@dataclass(frozen=True, repr=False)
class Step:
    """One step of the loop: the points it assigned, and their membership probabilities.

    claimed: indices of the points assigned to the new cluster; offered: indices of the points that
    had no cluster yet; probabilities: the membership probability of each offered point.
    """

    claimed: NDArray[np.intp]
    offered: NDArray[np.intp]
    probabilities: NDArray[np.float32]

    def __repr__(self) -> str:
        return f"Step({len(self.claimed):,} claimed of {len(self.offered):,} offered)"


@dataclass(frozen=True, repr=False)
class Clustering:
    """A finished clustering of n points into k clusters.

    labels: (n,), 0..k-1 in order of decreasing size, -1 for noise if noise was requested;
    probabilities: (n, k), conditional on the point belonging to one of the clusters, so rows sum
    to 1; log_likelihood: the mean per point of the context, in the columns that the network reads,
    if the system has a density, before constraints dissolve, merge or divide clusters; steps: the
    steps of the loop; warnings: reasons to treat the result with caution; context_size: on how many
    of the points the clusters were found, all of them unless there are many or some are noise;
    expected_agreement: the adjusted Rand index with the truth that a judge expects, and
    k_probabilities (K + 1,): its belief in each number of clusters, where a judge has chosen.
    """

    labels: NDArray[np.intp]
    probabilities: NDArray[np.float64]
    log_likelihood: float | None
    steps: tuple[Step, ...]
    warnings: tuple[str, ...] = ()
    context_size: int | None = None
    expected_agreement: float | None = None
    k_probabilities: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        return (
            f"Clustering({len(self.labels):,} points, {self.n_clusters} clusters,"
            f" {len(self.steps)} steps, {len(self.warnings)} warnings)"
        )

    @property
    def n_clusters(self) -> int:
        """k, the number of clusters."""
        return self.probabilities.shape[1]

    @property
    def confidence(self) -> NDArray[np.float64]:
        """The probability of each point's own cluster (n,)."""
        return own_probability(self.labels, self.probabilities)

    def fate(self, step: Step) -> int:
        """The final cluster of most points of a step; noise if all of them are noise."""
        ended = self.labels[step.claimed]
        inside = ended[ended != NOISE]
        return int(np.bincount(inside).argmax()) if len(inside) else NOISE


def own_probability(
    labels: NDArray[np.intp], probabilities: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The probability, among (n, k), of each point's label (n,); zero for noise."""
    own = np.take_along_axis(probabilities, np.maximum(labels, 0)[:, None], 1)[:, 0]
    return np.where(labels == NOISE, 0.0, own)


def nearly_as_probable(belief: NDArray[np.float64], n_clusters: int) -> int | None:
    """Another number of clusters that is nearly as probable, None where there is none.

    belief (K + 1,): the probability of each number.
    """
    others = belief.copy()
    chosen = others[n_clusters] if n_clusters < len(others) else 0.0
    others[n_clusters : n_clusters + 1] = 0.0
    best = int(others.argmax())
    return best if others[best] >= NEARLY * chosen and others[best] > 0 else None
