"""A forest of regression trees as plain arrays: no pickles, and NumPy alone to ask it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAF = -1


@dataclass(frozen=True)
class Forest:
    """All trees one after the other, N nodes in all.

    roots (T,): where each tree begins; feature (N,): what a node asks for, LEAF where it asks
    nothing; threshold (N,): at most this much goes left; left and right (N,): where to, among all
    nodes; value (N,): the answer of a leaf.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int16]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float32]

    def predict(self, table: NDArray[np.float32]) -> NDArray[np.float64]:
        """The mean answer of the trees to each row of a table (C, F): (C,)."""
        rows = np.arange(len(table))[:, None]
        node = np.broadcast_to(self.roots, (len(table), len(self.roots)))  # (C, T)
        while True:
            feature = self.feature[node]
            if (feature == LEAF).all():
                return self.value[node].astype(np.float64).mean(1)
            goes_left = table[rows, feature] <= self.threshold[node]
            further = np.where(goes_left, self.left[node], self.right[node])
            node = np.where(feature == LEAF, node, further)
