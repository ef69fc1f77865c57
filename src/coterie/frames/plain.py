"""Columns in their own units: projected, padded or as they are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PlainColumns:
    """The columns as they are, or their principal components where there are too many.

    axes: (m, d), the components; origin: (m,), the position of the mean along them; None where the
    columns are as they are.
    """

    width: int
    axes: NDArray | None = None
    origin: NDArray | None = None

    def __call__(self, table: NDArray) -> NDArray[np.float32]:
        """(n, d) -> (n, width), also for n = 0; without a copy where the table fits already."""
        if self.axes is not None and self.origin is not None:
            table = table @ self.axes.T
            table -= self.origin
        if table.shape[1] == self.width:
            return np.ascontiguousarray(table, dtype=np.float32)
        mapped = np.zeros((len(table), self.width), dtype=np.float32)
        mapped[:, : table.shape[1]] = table
        return mapped

    def in_units(self, table: NDArray) -> NDArray[np.float64]:
        """The columns as they are: (n, d)."""
        return np.asarray(table, dtype=np.float64)

    def rows(self, points: NDArray) -> NDArray[np.float64]:
        """The points themselves: (n, d)."""
        if self.axes is not None:
            raise ValueError(
                f"the network reads {len(self.axes)} principal components of {self.axes.shape[1]}"
                " columns: whole rows cannot be reconstructed"
            )
        return np.asarray(points, dtype=np.float64)


def fit_plain(table: NDArray, width: int) -> PlainColumns:
    """The map of a table (n, d): principal components if d is larger than the width."""
    n_rows, n_columns = table.shape
    if n_columns <= width:
        return PlainColumns(width)
    from sklearn.decomposition import PCA  # slow, and most tables are narrower

    # The cheap solver divides by n - 1 first, so a single row needs the other; equal rows have no
    # variance of which a share could be explained.
    solver = "covariance_eigh" if n_rows > n_columns else "full"
    with np.errstate(divide="ignore", invalid="ignore"):
        pca = PCA(min(width, n_rows), svd_solver=solver).fit(table)
    axes = np.ascontiguousarray(pca.components_)
    return PlainColumns(width, axes, (pca.mean_[None] @ axes.T)[0])
