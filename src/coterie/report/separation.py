"""How well a picture separates the clusters, and the two columns that do it best."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.stats import rankdata

from coterie.inference.result import NOISE

Numbers = NDArray[np.float64]
Labels = NDArray[np.intp]

NEIGHBOURS = 7
DOT = 0.015  # the diameter of a dot, as a share of the picture
MAX_ROWS = 1_200
MAX_COLUMNS = 8  # of which all pairs are tried
LEAST_VALUES = 10  # a column of fewer different values makes stripes


class Pair(NamedTuple):
    """Two columns to draw, and how well they separate the clusters, from 0 to 1."""

    x: int
    y: int
    score: float


def separation(places: Numbers, labels: Labels) -> float:
    """How well the places (n, 2) of a picture separate clusters with labels (n,), from 0 to 1.

    It is the share of points whose cluster their nearest neighbours tell, averaged over the
    clusters, so that small ones count. Places are scaled to the picture and moved by up to a dot,
    so that points drawn on top of each other cannot be told apart. Noise does not count.
    """
    inside = labels != NOISE
    places, labels = places[inside], labels[inside]
    if len(np.unique(labels)) < 2:
        return 0.0
    extent = np.ptp(places, axis=0)
    shares = (places - places.min(axis=0)) / np.where(extent > 0, extent, 1.0)
    shares = shares + np.random.default_rng(0).uniform(-DOT / 2, DOT / 2, shares.shape)
    n_neighbours = min(NEIGHBOURS, len(places) - 1)
    _, near = cKDTree(shares).query(shares, n_neighbours + 1)
    votes = np.zeros((len(places), int(labels.max()) + 1))
    rows = np.arange(len(places))
    for each in near.T:
        np.add.at(votes, (rows, labels[each]), each != rows)
    right = votes.argmax(axis=1) == labels
    counts = np.bincount(labels)
    return float((np.bincount(labels, right) / np.maximum(counts, 1))[counts > 0].mean())


def best_pair(points: Numbers, labels: Labels) -> Pair | None:
    """The two columns of points (n, d) whose picture separates the clusters (n,) best.

    Tried are all pairs of the columns that separate them best one by one. None where fewer than
    two columns have enough different values to be drawn.
    """
    drawable = [j for j in range(points.shape[1]) if _is_drawable(points[:, j])]
    if len(drawable) < 2 or len(np.unique(labels[labels != NOISE])) < 2:
        return None
    alone = explained(points[:, drawable], labels)
    first = np.sort(np.argsort(-alone, kind="stable")[:MAX_COLUMNS])
    found = []
    for i, j in combinations(first, 2):
        x, y = drawable[i], drawable[j]
        score = separation(points[:, [x, y]], labels)
        found.append((round(score, 2), alone[i] + alone[j], Pair(x, y, score)))
    return max(found)[-1]  # of nearly equal ones that whose columns tell more one by one


def drawn_sample(n_points: int) -> NDArray[np.intp]:
    """The rows on which pictures are compared: all, or a random sample."""
    if n_points <= MAX_ROWS:
        return np.arange(n_points)
    return np.sort(np.random.default_rng(0).choice(n_points, MAX_ROWS, replace=False))


def explained(points: Numbers, labels: Labels) -> Numbers:
    """The share of each column's variance between the clusters (d,), of the ranks of its values."""
    inside = labels != NOISE
    labels = labels[inside]
    ranks = rankdata(points[inside], axis=0)
    counts = np.bincount(labels)
    centred = ranks - ranks.mean(axis=0)
    sums = np.zeros((len(counts), points.shape[1]))
    np.add.at(sums, labels, centred)
    between = (sums**2 / np.maximum(counts, 1)[:, None]).sum(axis=0)
    total: Numbers = np.maximum((centred**2).sum(axis=0), 1e-12)
    return between / total


def _is_drawable(values: Numbers) -> bool:
    """Whether a column has many values, none of which most rows share."""
    _, counts = np.unique(values, return_counts=True)
    return len(counts) >= min(LEAST_VALUES, len(values)) and counts.max() <= len(values) / 2
