"""CSV and similar formats.

Every cell is read as text, so that it is written back unchanged.
"""

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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

if TYPE_CHECKING:
    import polars as pl

BLOCK_BYTES = 1_000_000
TABS = (".tsv", ".tab")
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Delimited:
    """A delimited text file with a header."""

    text_is_data = True
    suffixes: tuple[str, ...] = (".csv", ".txt", *TABS)
    aside: tuple[LeftOut, ...] = ()

    def __init__(
        self, path: Path, name: str, *, separator: str | None = None, encoding: str = "utf-8"
    ) -> None:
        self.name = name
        self._path = path
        self._separator = separator or _separator_of(path)
        self._given_separator = separator
        self._encoding = _known_encoding(encoding)
        self._names = self._read_names()
        self.columns = _distinct(self._names)

    def batches(self) -> Iterator[Batch]:
        """The rows, without blank ones at the end of the file."""
        blank: pl.DataFrame | None = None
        there_are_rows = False
        for frame, share in self._blocks():
            whole = frame if blank is None else polars().concat([blank, frame])
            filled = whole.select(polars().any_horizontal(polars().all().is_not_null()))
            places = filled.to_series().arg_true()
            n_filled = int(places[-1]) + 1 if len(places) else 0
            blank = whole[n_filled:]
            if n_filled:
                there_are_rows = True
                yield Batch(whole[:n_filled], whole[:n_filled], share)
        if not there_are_rows:
            raise SourceError(f"{self.name} has a header but no rows")

    @contextmanager
    def writer(self, target: Path) -> Iterator[Writer]:
        separator = self._given_separator or (
            _separator_of(target) if target.suffix else self._separator
        )
        with target.open("w", encoding=self._encoding, newline="") as file:
            yield _LineWriter(file, separator)

    def _blocks(self) -> "Iterator[tuple[pl.DataFrame, float]]":
        size = max(1, self._path.stat().st_size)
        with self._refusing(), pyarrow().OSFile(str(self._path)) as file:
            types = dict.fromkeys(self._names, pyarrow().string())
            for number, batch in enumerate(self._open(file, types), start=1):
                frame = as_frame(batch.rename_columns(list(self.columns)), self.columns)
                # The file is read far ahead, so its position would overstate the progress.
                yield frame, min(1.0, number * BLOCK_BYTES / size)

    def _open(self, file: Any, types: dict[str, Any]) -> Any:
        csv = pyarrow().csv
        return csv.open_csv(
            file,
            # One thread: with more, errors lack the line number.
            csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, encoding=self._encoding),
            csv.ParseOptions(delimiter=self._separator, newlines_in_values=True),
            csv.ConvertOptions(
                column_types=types,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def _read_names(self) -> list[str]:
        with self._path.open("rb") as start:
            if start.read(2) in UTF_16 and self._encoding == "utf-8":
                raise SourceError(f"{self.name} is UTF-16 text; use --encoding utf-16")
        with self._refusing():
            names: list[str] = self._open(pyarrow().OSFile(str(self._path)), {}).schema.names
        if all(_is_number(name) for name in names):
            raise SourceError(f"{self.name} has no header; its first row must name the columns")
        return names

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Turn errors of the parser into readable messages."""
        try:
            yield
        except UnicodeError as error:
            raise SourceError(self._misread(str(error))) from None
        except pyarrow().ArrowInvalid as error:
            reason = str(error).splitlines()[0].removeprefix("CSV parse error: ")
            if "Empty CSV" in reason:
                raise SourceError(f"{self.name} is empty") from None
            if "invalid UTF8" in reason:
                raise SourceError(self._misread(reason)) from None
            raise SourceError(f"{self.name} cannot be read as a table: {reason}") from error

    def _misread(self, reason: str) -> str:
        if self._encoding == "utf-8":
            return f"{self.name} is not UTF-8 text; set its encoding, as in --encoding latin-1"
        return f"{self.name} is not {self._encoding} text: {reason}"


class _LineWriter:
    def __init__(self, file: IO[str], separator: str) -> None:
        self._file, self._separator, self._is_first = file, separator, True

    def write(
        self, batch: Batch, labels: NDArray[np.intp], confidence: NDArray[np.float64]
    ) -> None:
        series = polars().Series
        frame = batch.frame.with_columns(series(ADDED[0], labels), series(ADDED[1], confidence))
        self._file.write(
            frame.write_csv(
                separator=self._separator, float_precision=6, include_header=self._is_first
            )
        )
        self._is_first = False


def _separator_of(path: Path) -> str:
    return "\t" if path.suffix.lower() in TABS else ","


def _known_encoding(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise SourceError(f"unknown encoding {name!r}; try utf-8, latin-1 or utf-16") from None


def _distinct(names: list[str]) -> tuple[str, ...]:
    """The names, with a number appended to duplicates."""
    found: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in found:
            number += 1
            candidate = f"{name}_{number}"
        found.append(candidate)
    return tuple(found)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
