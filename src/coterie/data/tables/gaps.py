"""Gaps in the columns of a file: filled as those of data frames are, by the same part.

The medians are those of the rows that are read: of a long file the sample on which the clusters
are found. The gaps are counted in the whole file.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.data.tables.columns import Column
from coterie.data.tables.table import Filled, Table
from coterie.frames.table_encoding import FILLED, Numbers, Remarks


def fit_fillings(columns: Sequence[Column], values: NDArray[np.float64]) -> tuple[Filled, ...]:
    """What to put into the gaps of the columns, by those of their values (m, d) that are read."""
    return tuple(
        Filled(column.name, column.gaps, Numbers.of(seen).median)
        for column, seen in zip(columns, values.T, strict=True)
        if column.gaps
    )


def fill_gaps(values: NDArray[np.float64], names: Sequence[str], filled: Sequence[Filled]) -> None:
    """Fill the gaps of values (m, d) with these names, in place: a sample may be large."""
    for each in filled:
        column = values[:, names.index(each.name)]
        column[:] = Numbers(each.median).fill(column)


def say_filled(table: Table) -> tuple[str, ...]:
    """What was filled in a table, in the words that data frames get."""
    remarks = Remarks()
    sample = f" of a sample of {len(table.rows):,} rows" if table.is_sample else ""
    for each in table.filled:
        remarks.count(f"{FILLED}{sample}", each.name, each.gaps)
    return remarks.sentences()
