"""Tables of any width for networks of a fixed one."""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from coterie.frames.standard import Groups, fit_standard

Scaling = Literal["none", "robust"]


class ColumnMap(Protocol):
    """How the columns of a table become those of a network."""

    def __call__(self, table: NDArray) -> NDArray[np.float32]:
        """(n, d) -> (n, width); missing columns are zero."""


@dataclass(frozen=True)
class PlainColumns:
    """Columns in their own units: projected, padded or as they are."""

    width: int
    pca: PCA | None

    def __call__(self, table: NDArray) -> NDArray[np.float32]:
        """(n, d) -> (n, width), the table itself where it is right."""
        if self.pca is not None:
            table = self.pca.transform(table)
        if table.shape[1] == self.width:
            return np.ascontiguousarray(table, dtype=np.float32)
        mapped = np.zeros((len(table), self.width), dtype=np.float32)
        mapped[:, : table.shape[1]] = table
        return mapped


@dataclass(frozen=True)
class MappedTable:
    """A table (n, d) as the network reads it: rows are mapped when they are asked for.

    So a table on disk is never in memory as a whole.
    """

    table: NDArray
    columns: ColumnMap

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> NDArray[np.float32]:
        """Some rows: (m, width)."""
        return self.columns(self.table[rows])


def fit_columns(
    table: NDArray,
    width: int,
    scaling: Scaling = "none",
    *,
    groups: Groups | None = None,
    random_state: np.random.RandomState | None = None,
) -> ColumnMap:
    """The map for a table (n, d), as the network's training had it.

    "none": the columns as they are, principal components if there are more than the network reads;
    "robust": standardised and turned onto principal axes whatever their number (`fit_standard`,
    where groups and random_state are explained).
    """
    if scaling == "robust":
        return fit_standard(table, width, groups=groups, random_state=random_state)
    if scaling != "none":
        raise ValueError(f"unknown scaling {scaling!r}; known: 'none', 'robust'")
    return _fit_plain(table, width)


def _fit_plain(table: NDArray, width: int) -> PlainColumns:
    n_rows, n_columns = table.shape
    if n_columns <= width:
        return PlainColumns(width, None)
    # The cheap solver divides by n - 1 first, so a single row needs the other; equal rows have no
    # variance of which a share could be explained.
    solver = "covariance_eigh" if n_rows > n_columns else "full"
    with np.errstate(divide="ignore", invalid="ignore"):
        pca = PCA(min(width, n_rows), svd_solver=solver).fit(table)
    return PlainColumns(width, pca)
