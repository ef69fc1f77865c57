"""Tables of any width for networks of a fixed one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA


@dataclass(frozen=True)
class ColumnMap:
    """How the columns of a table become those of a network: projected, padded or as they are."""

    width: int
    pca: PCA | None

    def __call__(self, table: NDArray) -> NDArray[np.float32]:
        """(n, d) -> (n, width); missing columns are zero."""
        if self.pca is not None:
            table = self.pca.transform(table)
        mapped = np.zeros((len(table), self.width), dtype=np.float32)
        mapped[:, : table.shape[1]] = table
        return mapped


def fit_columns(table: NDArray, width: int) -> ColumnMap:
    """The map for a table (n, d): principal components if it is wider than the network."""
    n_rows, n_columns = table.shape
    if n_columns <= width:
        return ColumnMap(width, None)
    # The cheap solver divides by n - 1 first, so a single row needs the other; equal rows have no
    # variance of which a share could be explained.
    solver = "covariance_eigh" if n_rows > n_columns else "full"
    with np.errstate(divide="ignore", invalid="ignore"):
        pca = PCA(min(width, n_rows), svd_solver=solver).fit(table)
    return ColumnMap(width, pca)
