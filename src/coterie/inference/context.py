"""The context: the points of a set on which its clusters are found."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

Rows = NDArray[np.intp]
Weights = NDArray[np.float64]


class Sample(NamedTuple):
    """The points of a context (m,), and how much each of all points counts (n,); one where None."""

    rows: Rows
    counts: Weights | None = None


def draw_context(n_points: int, size: int, random_state: np.random.RandomState) -> Sample:
    """All points where they fit, else some of them, in their order."""
    if n_points <= size:
        return Sample(np.arange(n_points))
    # RandomState.choice would permute all points to draw a few.
    rows = sample_without_replacement(n_points, size, random_state=random_state)
    return Sample(np.sort(rows))


def evenly_spaced(n_points: int, size: int) -> Rows:
    """All of some points that stand in an order, or as many as size, at even distances."""
    if n_points <= size:
        return np.arange(n_points)
    return ((np.arange(size) + 0.5) * (n_points / size)).astype(np.intp)


def draw_weighted_context(
    weights: Weights, size: int, random_state: np.random.RandomState
) -> Sample:
    """The points, each as often as its weight (n,) says, in their order.

    A point of weight zero is not there. Equal weights are as none. Whole numbers repeat the points
    where that fits; others, in units of their mean, decide how often a point is drawn.
    """
    present = np.flatnonzero(weights > 0)
    if not len(present):
        raise ValueError("all sample weights are zero: there is nothing to find clusters in")
    own = weights[present]
    if (own == own[0]).all():
        alike = draw_context(len(present), size, random_state)
        everybody = len(present) == len(weights)
        return alike if everybody else Sample(present[alike.rows], np.sign(weights))
    if (own != np.rint(own)).any():
        rows = _resampled(own, min(size, len(own)), random_state)
        return Sample(present[rows], weights / own.mean())
    if own.sum() > size:
        return Sample(present[_resampled(own, size, random_state)], weights)
    return Sample(np.repeat(present, own.astype(np.intp)), weights)


def _resampled(weights: Weights, n_drawn: int, random_state: np.random.RandomState) -> Rows:
    """Systematic resampling: each point as often as expected, up or down to a whole number."""
    ends = weights.cumsum()
    places = (random_state.uniform() + np.arange(n_drawn)) * (ends[-1] / n_drawn)
    return np.minimum(np.searchsorted(ends, places, side="right"), len(weights) - 1)
