"""The rows of a file, batch by batch, as an encoding that was fitted before reads them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.data.tables.columns import Column, columns_of, read_batch, refuse_infinite
from coterie.data.tables.table import Batch, Source, SourceError
from coterie.frames.column_parts import Indicators, Remarks
from coterie.frames.encoded_table import TableEncoding


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
    # Where cells have types, text may still be numbers with a currency: the encoding reads those.
    encode = () if source.text_is_data else frozenset(encoding.columns) - categories
    start = 0
    for batch in source.batches():
        columns = columns_of(source, encoding.columns, encode=encode, as_text=categories)
        read = read_batch(columns, batch.frame, start).T
        _refuse_other_kinds(source, columns)
        refuse_infinite(source, columns)
        framed = (column.framed(values) for column, values in zip(columns, read, strict=True))
        try:
            values = np.asarray(encoding.encode(framed, remarks).table, dtype=np.float64)
        except ValueError as error:
            raise SourceError(f"{source.name}: {error}") from None
        rows = np.arange(start, start + len(values))
        start += len(rows)
        yield EncodedBatch(batch, rows, values)


def _refuse_other_kinds(source: Source, columns: list[Column]) -> None:
    wrong = [
        f"column {column.name!r} held numbers in fit and has {column.reason} now"
        for column in columns
        if column.reason is not None
    ]
    if wrong:
        raise SourceError(f"{source.name}: {'; '.join(wrong)}")
