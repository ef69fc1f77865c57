"""What is gained by taking clusters for evenly spread ones instead of Gaussians.

A bar or a band is several Gaussians in a row to a mixture. One cluster that is spread evenly along
its longest axis tells as much of it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from coterie.mixtures.gaussians import Array

Labels = NDArray[np.integer]

FEWEST = 3  # points whose spread can be told


def gain_of_evenness(points: Array, clusters: Labels, components: Labels) -> float:
    """The gain in log-likelihood by evenly spread clusters where a mixture divides them, in nats.

    points (N, D); clusters (N,): 0..k-1, -1 for none; components (N,): those of the mixture. A
    component is a part of the cluster of most of its points.
    """
    clustered = clusters >= 0
    if not clustered.any():
        return 0.0
    shared = np.zeros((components.max() + 1, clusters.max() + 1), dtype=np.intp)
    np.add.at(shared, (components[clustered], clusters[clustered]), 1)
    parts = np.bincount(shared[shared.any(1)].argmax(1), minlength=shared.shape[1])
    gains = [_gain(points[clusters == number]) for number in np.flatnonzero(parts > 1)]
    return sum(max(0.0, gain) for gain in gains)


def _gain(points: Array) -> float:
    """The log-likelihood of points (n, D) evenly spread along their longest axis, less a normal's.

    The ends are the outermost points, a mean distance further apart on either side.
    """
    if len(points) < FEWEST:
        return 0.0
    centred = points - points.mean(0)
    along = centred @ np.linalg.eigh(centred.T @ centred)[1][:, -1]
    variance, length = float(along.var()), float(np.ptp(along))
    if not variance:
        return 0.0
    length *= (len(along) + 1) / (len(along) - 1)
    return len(along) * (0.5 * math.log(2 * math.pi * math.e * variance) - math.log(length))
