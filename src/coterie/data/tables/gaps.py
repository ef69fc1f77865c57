"""Missing values in the columns of a file, filled as in data frames.

The medians are those of the rows in memory: for a long file, of the sample on which the clusters
are found. Missing values are counted in the whole file.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.data.tables.columns import Column
from coterie.data.tables.table import Filled, Table
from coterie.frames.table_encoding import FILLED, Numbers, Remarks


def fit_fillings(columns: Sequence[Column], values: NDArray[np.float64]) -> tuple[Filled, ...]:
    """The medians that fill the columns, from their values (m, d) in memory."""
    return tuple(
        Filled(column.name, column.gaps, Numbers.of(seen).median)
        for column, seen in zip(columns, values.T, strict=True)
        if column.gaps
    )


def fill_gaps(values: NDArray[np.float64], names: Sequence[str], filled: Sequence[Filled]) -> None:
    """Fill missing values of (m, d) columns with these names, in place to save memory."""
    for each in filled:
        column = values[:, names.index(each.name)]
        column[:] = Numbers(each.median).fill(column)


def filled_notes(table: Table) -> tuple[str, ...]:
    """Notes on the filled columns of a table, worded as for data frames."""
    remarks = Remarks()
    sample = f" of a sample of {len(table.rows):,} rows" if table.is_sample else ""
    for each in table.filled:
        remarks.count(f"{FILLED}{sample}", each.name, each.gaps)
    return remarks.sentences()
