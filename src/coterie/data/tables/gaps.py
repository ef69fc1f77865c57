"""Missing values in the columns of a file, filled as in data frames.

The medians are those of the rows in memory: for a long file, of the sample on which the clusters
are found. Missing values are counted in the whole file.
"""

from collections.abc import Sequence

from coterie.data.tables.columns import Column
from coterie.data.tables.table import Filled, Table
from coterie.frames.column_parts import FILLED, Numbers, Remarks
from coterie.frames.encoded_table import TableEncoding


def fit_fillings(columns: Sequence[Column], encoding: TableEncoding) -> tuple[Filled, ...]:
    """The medians that fill the columns, one for each part of their encoding."""
    return tuple(
        Filled(column.name, column.gaps, part.median)
        for column, part in zip(columns, encoding.parts, strict=True)
        if column.gaps and isinstance(part, Numbers)
    )


def filled_notes(table: Table) -> tuple[str, ...]:
    """Notes on the filled columns of a table, worded as for data frames."""
    remarks = Remarks()
    sample = f" of a sample of {len(table.rows):,} rows" if table.is_sample else ""
    for each in table.filled:
        remarks.count(f"{FILLED}{sample}", each.name, each.gaps)
    return remarks.sentences()
