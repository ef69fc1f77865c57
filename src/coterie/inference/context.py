"""The context: the points of a set in which the clusters are found."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

Rows = NDArray[np.intp]
Weights = NDArray[np.float64]


class Sample(NamedTuple):
    """The rows of a context (m,), and the weights of all points (n,); None means unit weights."""

    rows: Rows
    counts: Weights | None = None


def draw_context(n_points: int, size: int, random_state: np.random.RandomState) -> Sample:
    """All points if they fit, otherwise a random sample, in the original order."""
    if n_points <= size:
        return Sample(np.arange(n_points))
    # RandomState.choice permutes all points, even to draw only a few.
    rows = sample_without_replacement(n_points, size, random_state=random_state)
    return Sample(np.sort(rows))


def evenly_spaced(n_points: int, size: int) -> Rows:
    """Indices of ordered points: all of them, or as many as size, evenly spaced."""
    if n_points <= size:
        return np.arange(n_points)
    return ((np.arange(size) + 0.5) * (n_points / size)).astype(np.intp)


def draw_weighted_context(
    weights: Weights, size: int, random_state: np.random.RandomState
) -> Sample:
    """A sample in which points are repeated according to their weights (n,), in the original order.

    Points of weight zero are left out. Equal weights have no effect. With integer weights each
    point is repeated that often, if the result fits; otherwise points are resampled in proportion
    to their weights. Weights that are not integers are counted in units of their mean.
    """
    present = np.flatnonzero(weights > 0)
    if not len(present):
        raise ValueError("all sample weights are zero: there are no points to cluster")
    own = weights[present]
    if (own == own[0]).all():
        unweighted = draw_context(len(present), size, random_state)
        if len(present) == len(weights):
            return unweighted
        return Sample(present[unweighted.rows], np.sign(weights))
    if (own != np.rint(own)).any():
        rows = _resampled(own, min(size, len(own)), random_state)
        return Sample(present[rows], weights / own.mean())
    if own.sum() > size:
        return Sample(present[_resampled(own, size, random_state)], weights)
    return Sample(np.repeat(present, own.astype(np.intp)), weights)


def _resampled(weights: Weights, n_drawn: int, random_state: np.random.RandomState) -> Rows:
    """Systematic resampling: counts are the expected ones, rounded up or down."""
    ends = weights.cumsum()
    places = (random_state.uniform() + np.arange(n_drawn)) * (ends[-1] / n_drawn)
    return np.minimum(np.searchsorted(ends, places, side="right"), len(weights) - 1)
