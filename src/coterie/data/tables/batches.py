"""The rows of a file, batch by batch, as an encoding that was fitted before reads them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.data.tables.columns import Column, columns_of, read_batch, refuse_infinite
from coterie.data.tables.table import Batch, Source, SourceError
from coterie.frames.column_parts import Indicators, Remarks
from coterie.frames.column_roles import truths_of
from coterie.frames.encoded_table import TableEncoding
from coterie.frames.written_numbers import numbers_of


class EncodedBatch(NamedTuple):
    """Consecutive rows of a file: their numbers (m,), and their values (m, d)."""

    batch: Batch
    rows: NDArray[np.intp]
    values: NDArray[np.float64]


def encoded_batches(
    source: Source, encoding: TableEncoding, remarks: Remarks | None = None
) -> Iterator[EncodedBatch]:
    """All rows of a file, encoded; remarks tells what was filled and what is new."""
    remarks = Remarks() if remarks is None else remarks
    pairs = zip(encoding.columns, encoding.parts, strict=True)
    categories = frozenset(name for name, part in pairs if isinstance(part, Indicators))
    # Where numbers have a type of their own, text may still hold numbers, such as $1,234.50.
    text = () if source.text_is_data else encoding.columns
    start = 0
    for batch in source.batches():
        columns = columns_of(source, encoding.columns, encode=text, as_text=categories)
        read = read_batch(columns, batch.frame, start).T
        _refuse_other_kinds(source, columns, categories)
        refuse_infinite(source, columns)
        framed = (column.framed(values) for column, values in zip(columns, read, strict=True))
        values = np.asarray(encoding.encode(framed, remarks).table, dtype=np.float64)
        rows = np.arange(start, start + len(values))
        start += len(rows)
        yield EncodedBatch(batch, rows, values)


def numbered_batches(source: Source) -> Iterator[EncodedBatch]:
    """All rows of a file without their values, (m, 0), for those who know them already."""
    start = 0
    for batch in source.batches():
        rows = np.arange(start, start + len(batch.frame))
        start += len(rows)
        yield EncodedBatch(batch, rows, np.empty((len(rows), 0)))


def _refuse_other_kinds(source: Source, columns: list[Column], categories: frozenset[str]) -> None:
    wrong = [
        f"column {column.name!r} held numbers in fit and has {column.reason or column.text} now"
        for column in columns
        if column.reason is not None or (column.name not in categories and _is_mere_text(column))
    ]
    if wrong:
        raise SourceError(f"{source.name}: {'; '.join(wrong)}")


def _is_mere_text(column: Column) -> bool:
    """Whether the text of a column is neither numbers nor truths."""
    if column.text is None:
        return False
    cells = column.framed(np.empty(0))
    return bool(cells.levels) and truths_of(cells) is None and numbers_of(cells) is None
