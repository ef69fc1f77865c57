"""What distinguishes a cluster, and its most typical rows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.inference.result import NOISE
from coterie.report.plane import Numbers, spread, standardised

SMALLEST_SPREAD = 0.05  # of the column's spread: narrower clusters count as a single value
NOTABLE = 1.5
APART = 0.5  # spreads between medians, to be called higher or lower
BETWEEN = 3.0  # the score of a column in which a cluster lies between others
# A share of 80 % against 20 % counts as much as a median that is two of its own spreads away.
SHARE_WEIGHT = 1.5
CERTAIN = 0.9995  # shown as 1.000


class Difference(NamedTuple):
    """A column in which a cluster differs: its score, and the medians inside and elsewhere.

    score: the median distance of other rows from the cluster's median, divided by that of its own
    rows; robust to outliers, and 1 for no difference. For the indicator of a category, inside and
    elsewhere are the shares of rows that have it. shift: how far apart the medians are, in spreads,
    or the shares; they may be equal where a cluster lies between others.
    """

    column: int
    score: float
    inside: float
    elsewhere: float
    shift: float


class Profile(NamedTuple):
    """A cluster: its number, the columns that differ most, its most typical rows.

    traits: differences to put into words, those of the medians first.
    """

    cluster: int
    differences: tuple[Difference, ...]
    typical: NDArray[np.intp]
    traits: tuple[Difference, ...] = ()


def profiles(
    points: Numbers,
    labels: NDArray[np.intp],
    confidence: Numbers,
    *,
    shares: NDArray[np.bool_] | None = None,
    n_columns: int = 4,
    n_rows: int = 5,
) -> tuple[Profile, ...]:
    """The profile of each cluster 0..k-1 of points (n, d) with labels and confidence (n,).

    shares: which columns are indicators of categories (d,).
    """
    units = spread(points)
    found = []
    for cluster in range(int(labels.max()) + 1):
        each = compared(points, labels == cluster, units, shares)
        typical = typical_rows(points, np.flatnonzero(labels == cluster), confidence)
        notable = tuple(one for one in each if one.score >= NOTABLE)
        found.append(Profile(cluster, notable[:n_columns], typical[:n_rows], traits(each)))
    return tuple(found)


def traits(found: Sequence[Difference], n_traits: int = 8) -> tuple[Difference, ...]:
    """What to say of a cluster: where its medians lie apart, then where it lies between others."""
    apart = sorted((each for each in found if each.shift >= APART), key=lambda each: -each.shift)
    between = [each for each in found if each.shift < APART and each.score >= BETWEEN]
    return tuple([*apart, *between][:n_traits])


def differences(
    points: Numbers,
    member: NDArray[np.bool_],
    units: Numbers,
    shares: NDArray[np.bool_] | None = None,
) -> tuple[Difference, ...]:
    """The columns of points (n, d) in which members (n,) differ from the rest, most first.

    units: the spread of the columns (d,); shares: which of them are indicators of categories (d,).
    """
    found = compared(points, member, units, shares)
    return tuple(each for each in found if each.score >= NOTABLE)


def compared(
    points: Numbers,
    member: NDArray[np.bool_],
    units: Numbers,
    shares: NDArray[np.bool_] | None = None,
) -> tuple[Difference, ...]:
    """Members (n,) against the rest in all columns of points (n, d), most different first."""
    if not member.any() or member.all():
        return ()
    inside, rest = points[member], points[~member]
    centre, elsewhere = np.median(inside, axis=0), np.median(rest, axis=0)
    own = 1.4826 * np.median(abs(inside - centre), axis=0)
    own = np.maximum(own, SMALLEST_SPREAD * units)
    scores = 1.4826 * np.median(abs(rest - centre), axis=0) / own
    theirs = np.maximum(1.4826 * np.median(abs(rest - elsewhere), axis=0), SMALLEST_SPREAD * units)
    shift = abs(centre - elsewhere) / np.sqrt((own**2 + theirs**2) / 2)
    if shares is not None and shares.any():
        centre[shares] = (inside[:, shares] > 0).mean(axis=0)
        elsewhere[shares] = (rest[:, shares] > 0).mean(axis=0)
        shift[shares] = share_distance(centre[shares], elsewhere[shares])
        scores[shares] = 1 + SHARE_WEIGHT * shift[shares]
    columns = zip(scores.tolist(), centre.tolist(), elsewhere.tolist(), shift.tolist(), strict=True)
    found = [Difference(j, *column) for j, column in enumerate(columns)]
    return tuple(sorted(found, key=lambda each: -each.score))


def cluster_medians(
    points: Numbers, labels: NDArray[np.intp], shares: NDArray[np.bool_], n_clusters: int
) -> Numbers:
    """The medians of points (n, d) in each cluster, or the shares of categories: (k, d).

    Those of a cluster without points are zero.
    """
    medians = np.zeros((n_clusters, points.shape[1]))
    for cluster in np.unique(labels[labels != NOISE]):
        inside = points[labels == cluster]
        medians[cluster] = np.median(inside, axis=0)
        medians[cluster, shares] = (inside[:, shares] > 0).mean(axis=0)
    return medians


def share_distance(shares: Numbers, others: Numbers) -> Numbers:
    """How far shares are apart on the scale on which each has the same variance (Cohen's h)."""
    return abs(2 * np.arcsin(np.sqrt(shares)) - 2 * np.arcsin(np.sqrt(others)))


def typical_rows(
    points: Numbers, members: NDArray[np.intp], confidence: Numbers
) -> NDArray[np.intp]:
    """Members (m,) of points (n, d), most typical first: confident and near the median."""
    distance = (np.clip(standardised(points[members]), -10, 10) ** 2).sum(axis=1)
    unsure = confidence[members] < np.median(confidence[members])
    return members[np.lexsort((distance, unsure))]


def least_certain(confidence: Numbers, n_rows: int = 10) -> NDArray[np.intp]:
    """The rows with the lowest confidence, lowest first, without those that are certain."""
    order = np.argsort(confidence, kind="stable")[:n_rows]
    return order[confidence[order] < CERTAIN]
