"""Clusters that are too small to be any: what a network has left behind."""

import numpy as np
from numpy.typing import NDArray

COVERED = 0.9  # of the points, by the clusters of which the smallest counts as a large one


def smallest_kept(sizes: NDArray[np.intp], least: float) -> float:
    """From how many points on a cluster is none of the leftovers, of clusters of sizes (K,).

    That is least, but no more than half the size of a cluster that only one point in ten has a
    larger one than: in sets of small clusters only smaller ones than this are known to be
    leftovers.
    """
    ordered = np.sort(sizes)
    reached = ordered.cumsum()
    return min(least, float(ordered[np.searchsorted(reached, COVERED * reached[-1])]) / 2)
