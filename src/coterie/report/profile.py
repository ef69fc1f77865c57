"""What distinguishes a cluster, and its most typical rows."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.report.plane import Numbers, spread, standardised

SMALLEST_SPREAD = 0.05  # of the column's spread: narrower clusters count as a single value
NOTABLE = 1.5


class Difference(NamedTuple):
    """A column in which a cluster differs: its score, and the medians inside and elsewhere.

    score: the median distance of other rows from the cluster's median, divided by that of its own
    rows; robust to outliers, and 1 for no difference.
    """

    column: int
    score: float
    inside: float
    elsewhere: float


class Profile(NamedTuple):
    """A cluster: its number, the columns that differ most, its most typical rows."""

    cluster: int
    differences: tuple[Difference, ...]
    typical: NDArray[np.intp]


def profiles(
    points: Numbers,
    labels: NDArray[np.intp],
    confidence: Numbers,
    *,
    n_columns: int = 4,
    n_rows: int = 5,
) -> tuple[Profile, ...]:
    """The profile of each cluster 0..k-1 of points (n, d) with labels and confidence (n,)."""
    units = spread(points)
    return tuple(
        Profile(
            cluster,
            differences(points, labels == cluster, units)[:n_columns],
            typical_rows(points, np.flatnonzero(labels == cluster), confidence)[:n_rows],
        )
        for cluster in range(int(labels.max()) + 1)
    )


def differences(
    points: Numbers, member: NDArray[np.bool_], units: Numbers
) -> tuple[Difference, ...]:
    """The columns of points (n, d) in which members (n,) differ from the rest, most first."""
    if not member.any() or member.all():
        return ()
    inside, rest = points[member], points[~member]
    centre = np.median(inside, axis=0)
    own = 1.4826 * np.median(abs(inside - centre), axis=0)
    own = np.maximum(own, SMALLEST_SPREAD * units)
    scores = 1.4826 * np.median(abs(rest - centre), axis=0) / own
    elsewhere = np.median(rest, axis=0)
    order = np.argsort(-scores, kind="stable")
    return tuple(
        Difference(int(j), float(scores[j]), float(centre[j]), float(elsewhere[j]))
        for j in order
        if scores[j] >= NOTABLE
    )


def typical_rows(
    points: Numbers, members: NDArray[np.intp], confidence: Numbers
) -> NDArray[np.intp]:
    """Members (m,) of points (n, d), most typical first: confident and near the median."""
    distance = (np.clip(standardised(points[members]), -10, 10) ** 2).sum(axis=1)
    unsure = confidence[members] < np.median(confidence[members])
    return members[np.lexsort((distance, unsure))]


def least_certain(confidence: Numbers, n_rows: int = 10) -> NDArray[np.intp]:
    """The rows with the lowest confidence, lowest first."""
    return np.argsort(confidence, kind="stable")[:n_rows]
