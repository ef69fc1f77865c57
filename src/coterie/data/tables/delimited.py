"""CSV and similar formats.

Every cell is read as text, so that it is written back unchanged.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.data.tables.dialect import Stated, sniff
from coterie.data.tables.formulas import without_formulas
from coterie.data.tables.numerals import Numerals
from coterie.data.tables.scan import checked, read_head
from coterie.data.tables.table import (
    ADDED,
    Batch,
    LeftOut,
    SourceError,
    Writer,
    as_frame,
    polars,
    pyarrow,
)
from coterie.frames.table_columns import distinct

if TYPE_CHECKING:
    import polars as pl

BLOCK_BYTES = 1_000_000
MANY_COLUMNS = 500  # a block has to hold many rows of a wide table too
MAX_COLUMNS = 50_000
TABS = (".tsv", ".tab")


class Delimited:
    """A delimited text file; how it is written is decided from its content, unless stated."""

    text_is_data = True
    suffixes: tuple[str, ...] = (".csv", ".txt", *TABS)
    aside: tuple[LeftOut, ...] = ()

    def __init__(
        self,
        path: Path,
        name: str,
        *,
        separator: str | None = None,
        encoding: str | None = None,
        decimal: str | None = None,
        header: bool | None = None,
        max_columns: int = MAX_COLUMNS,
    ) -> None:
        self.name = name
        self._path = path
        head = read_head(path)
        dialect = sniff(
            head,
            Stated(separator, decimal, header, encoding),
            is_whole=len(head) == path.stat().st_size,
            usual=_separator_of(path),
            max_columns=max_columns,
            name=name,
        )
        self.dialect = checked(path, name, dialect, is_stated=encoding is not None)
        self.numerals, self.remarks = self.dialect.numerals, self.dialect.remarks
        self._given_separator = separator
        if not self.dialect.first:
            raise SourceError(f"{name} is empty")
        self.columns = distinct(self.dialect.names)
        longest = sum(map(len, self.dialect.first)) + 3 * len(self.columns)
        self._block_bytes = max(BLOCK_BYTES * max(1, len(self.columns) // MANY_COLUMNS), longest)

    def batches(self) -> Iterator[Batch]:
        """The rows, without blank ones at the end of the file."""
        blank: pl.DataFrame | None = None
        there_are_rows = False
        for frame, share in self._blocks():
            whole = frame if blank is None else polars().concat([blank, frame])
            filled = whole.select(polars().any_horizontal(polars().all().is_not_null()))
            places = np.flatnonzero(filled.to_series().to_numpy())
            n_filled = int(places[-1]) + 1 if len(places) else 0
            blank = whole[n_filled:]
            if n_filled:
                there_are_rows = True
                yield Batch(whole[:n_filled], whole[:n_filled], share)
        if not there_are_rows:
            raise SourceError(f"{self.name} has a header but no rows")

    @contextmanager
    def writer(self, target: Path, *, keep_formulas: bool = False) -> Iterator[Writer]:
        numerals = None if keep_formulas else self.numerals
        with target.open("w", encoding=self.dialect.encoding, newline="") as file:
            comma = self.numerals.decimal == ","
            yield _LineWriter(file, self._separator_for(target), comma, numerals)

    def _separator_for(self, target: Path) -> str:
        """The separator of this file, unless the extension of the target asks for another."""
        ours = self.dialect.separator
        if self._given_separator or not target.suffix:
            return ours
        asked = _separator_of(target)
        return asked if "\t" in (asked, ours) else ours

    def _blocks(self) -> "Iterator[tuple[pl.DataFrame, float]]":
        size = max(1, self._path.stat().st_size)
        with self._refusing(), pyarrow().OSFile(os.fsencode(self._path)) as file:
            for number, batch in enumerate(self._open(file), start=1):
                frame = as_frame(batch, self.columns)
                if number == 1 and self.dialect.header:
                    frame = frame[1:]
                # The file is read far ahead, so its position would overstate the progress.
                yield frame, min(1.0, number * self._block_bytes / size)

    def _open(self, file: Any) -> Any:
        csv = pyarrow().csv
        # Numbers, because the names in the file need not be distinct; its header is a row.
        names = [str(at) for at in range(len(self.columns))]
        return csv.open_csv(
            file,
            csv.ReadOptions(
                use_threads=False,  # with more threads, errors lack the line number
                block_size=self._block_bytes,
                encoding=self.dialect.encoding.removesuffix("-sig"),
                column_names=names,
            ),
            csv.ParseOptions(delimiter=self.dialect.separator, newlines_in_values=True),
            csv.ConvertOptions(
                column_types=dict.fromkeys(names, pyarrow().string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Turn errors of the parser into readable messages."""
        try:
            yield
        except UnicodeError as error:
            raise SourceError(self._misread(str(error))) from None
        except pyarrow().ArrowInvalid as error:
            reason = str(error).splitlines()[0].removeprefix("CSV parse error: ")
            if "invalid UTF8" in reason:
                raise SourceError(self._misread(reason)) from None
            if "straddling" in reason:
                reason = f"a row is longer than {self._block_bytes:,} bytes"
            raise SourceError(f"{self.name} cannot be read as a table: {reason}") from error

    def _misread(self, reason: str) -> str:
        if self.dialect.encoding == "utf-8":
            return f"{self.name} is not UTF-8 text; set its encoding, as in --encoding latin-1"
        return f"{self.name} is not {self.dialect.encoding} text: {reason}"


class _LineWriter:
    """Writes lines; with numerals, text that is none of them and looks like a formula is marked."""

    def __init__(
        self, file: IO[str], separator: str, decimal_comma: bool, numerals: Numerals | None
    ) -> None:
        self._file, self._separator, self._is_first = file, separator, True
        self._decimal_comma, self._numerals = decimal_comma, numerals

    def write(
        self, batch: Batch, labels: NDArray[np.intp], confidence: NDArray[np.float64]
    ) -> None:
        series = polars().Series
        frame = batch.frame
        if self._numerals is not None:
            frame = without_formulas(frame, self._numerals)
        frame = frame.with_columns(series(ADDED[0], labels), series(ADDED[1], confidence))
        self._file.write(
            frame.write_csv(
                separator=self._separator,
                float_precision=6,
                include_header=self._is_first,
                decimal_comma=self._decimal_comma,
            )
        )
        self._is_first = False


def _separator_of(path: Path) -> str:
    return "\t" if path.suffix.lower() in TABS else ","
