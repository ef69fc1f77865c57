"""Whether the parts of a set are copies of the whole, as in a fractal.

Such a set has no number of clusters: each of its parts falls apart again. The parts are those of
k-means; each is compared with the whole by the energy distance, both in a unit of their own.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import ClusterError, kmeans2
from scipy.spatial.distance import cdist, pdist

Points = NDArray[np.float64]

COUNTS = range(3, 10)  # parts that are tried; two halves of an even spread are like the whole
FEWEST_OF_A_PART = 40  # rows: of fewer nothing can be said
BALANCE = 0.5  # of the largest part, which the smallest has at least: copies are of one size
MOST_ROWS = 500
MOST_COLUMNS = 3  # in more, parts of so few rows all look alike
ROUNDS, AT_A_TIME = 25, 5  # of k-means: most have arrived long before the last


def likeness(points: NDArray) -> float | None:
    """How closely the parts of points (n, D) resemble the whole, in the best number of parts.

    It is the mean of minus m times the energy distance of a part of m rows from the whole: about
    0.8 to 1 if parts are like samples of the whole, and far below zero if they are not. None if
    there are too few rows or too many columns.
    """
    points = points[:, points.std(0) > 0].astype(np.float64)
    if len(points) < min(COUNTS) * FEWEST_OF_A_PART or not 0 < points.shape[1] <= MOST_COLUMNS:
        return None
    points = _some(points)
    divisions = [*_divisions(points)]
    if not divisions:
        return None
    whole = _in_own_unit(points)
    within = pdist(whole).mean()
    return max(
        float(np.mean([_closeness(part, whole, within) for part in parts])) for parts in divisions
    )


def _some(points: Points) -> Points:
    """A sample that does not depend on the order of the rows."""
    ordered = points[np.lexsort(points.T)]
    return ordered[np.random.default_rng(0).permutation(len(points))[:MOST_ROWS]]


def _divisions(points: Points) -> Iterator[list[Points]]:
    """The parts of each division by k-means into parts of similar sizes."""
    starts = _spread(points, max(COUNTS))
    for count in COUNTS:
        try:
            labels = _means(points, starts[:count])
        except ClusterError:  # fewer distinct rows than parts
            return
        sizes = np.bincount(labels, minlength=count)
        if sizes.min() >= max(FEWEST_OF_A_PART, BALANCE * sizes.max()):
            yield [points[labels == each] for each in range(count)]


def _means(points: Points, centres: Points) -> NDArray[np.integer]:
    """The labels (n,) that k-means gives points (n, D) from the given centres (k, D)."""
    before = None
    for _ in range(0, ROUNDS, AT_A_TIME):
        centres, labels = kmeans2(points, centres, AT_A_TIME, minit="matrix", missing="raise")
        if before is not None and np.array_equal(labels, before):
            break
        before = labels
    return labels


def _spread(points: Points, count: int) -> Points:
    """Rows that are far from each other, each the farthest from those before."""
    chosen = [int(np.square(points - points.mean(0)).sum(1).argmax())]
    nearest = np.full(len(points), np.inf)
    for _ in range(count - 1):
        nearest = np.minimum(nearest, np.square(points - points[chosen[-1]]).sum(1))
        chosen.append(int(nearest.argmax()))
    return points[chosen]


def _in_own_unit(points: Points) -> Points:
    centred = points - points.mean(0)
    return centred / max(float(np.sqrt(np.square(centred).sum(1).mean())), 1e-300)


def _closeness(part: Points, whole: Points, within: float) -> float:
    """Minus m times the energy distance; within: the mean distance of two points of the whole."""
    part = _in_own_unit(part)
    return -len(part) * float(2 * cdist(part, whole).mean() - pdist(part).mean() - within)
