"""Rows of a later table that are unlike those fitted.

A row is unlike them if its neighbours among the fitted rows are farther away than those of 99 in
100 fitted rows of the nearest cluster are. The network may read fewer dimensions than there are
columns; therefore a row is also unlike them if a value lies out of the range of its column by more
than the width of that range. Of rows like those fitted, about one in a hundred is unlike them by
this measure; of a table that has drifted, more.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from coterie.inference.context import evenly_spaced
from coterie.inference.outliers import NEIGHBOUR, own_distances

EXPECTED = 0.01  # the share of unlike rows where nothing has changed
MAX_PLACES = 2_000
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Familiar:
    """Where the fitted rows are: m of them as the network reads them, and the range of each column.

    limit: (m,), the distance to the neighbours beyond which a row beside this one is unlike; low,
    high: (d,), the range of the fitted table.
    """

    places: cKDTree
    limit: Numbers
    low: Numbers
    high: Numbers

    @classmethod
    def of(
        cls, points: NDArray, labels: NDArray[np.intp], low: NDArray, high: NDArray
    ) -> "Familiar":
        """From fitted points (n, D), their labels (n,), and the range of the table (d,)."""
        kept = evenly_spaced(len(points), MAX_PLACES)
        places, labels = cKDTree(points[kept]), labels[kept]
        distances = own_distances(places.data)
        apart = distances[distances > 0]
        # Where most rows coincide, a step to the next place is nothing unusual.
        least = float(np.median(apart)) if len(apart) else 0.0
        limit = np.empty(len(distances))
        for cluster in np.unique(labels):
            own = labels == cluster
            # The quantile of a few rows is too small for others.
            enough = distances[own] if own.sum() >= 2 / EXPECTED else distances
            limit[own] = max(float(np.quantile(enough, 1 - EXPECTED)), least)
        return cls(places, limit, low.astype(np.float64), high.astype(np.float64))

    def unlike(self, points: NDArray, table: NDArray) -> NDArray[np.bool_]:
        """Which rows of a table (n, d), to the network points (n, D), are unlike those fitted."""
        n_neighbours = min(NEIGHBOUR, len(self.limit))
        distances, nearest = self.places.query(points, k=[1, n_neighbours])
        far = distances[:, 1] > self.limit[nearest[:, 0]]
        width = self.high - self.low
        out_of_range = (table < self.low - width) | (table > self.high + width)
        unlike: NDArray[np.bool_] = far | out_of_range.any(1)
        return unlike

    def beyond(self, table: NDArray) -> NDArray[np.intp]:
        """How many values of each column of a table (n, d) are out of the fitted range: (d,)."""
        outside = (table < self.low) | (table > self.high)
        counted: NDArray[np.intp] = outside.sum(0)
        return counted
