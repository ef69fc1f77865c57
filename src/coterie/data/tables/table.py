"""The interface between files and clustering."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.frames.column_roles import TEXT, LeftOut
from coterie.frames.encoded_table import EncodedTable, TableEncoding

if TYPE_CHECKING:
    import polars as pl

ADDED = ("cluster", "confidence")


class SourceError(ValueError):
    """A file that cannot be read as a table of finite numbers."""


__all__ = [
    "ADDED",
    "TEXT",
    "Batch",
    "Filled",
    "LeftOut",
    "Source",
    "SourceError",
    "Table",
    "Writer",
    "as_frame",
    "polars",
    "pyarrow",
]


class Filled(NamedTuple):
    """A numeric column with missing values: their number in the file, and the median used."""

    name: str
    gaps: int
    median: float


class Batch(NamedTuple):
    """Consecutive rows of a file.

    frame: as a data frame; native: in the file's own format; share: the share of the file read so
    far, 0 to 1.
    """

    frame: "pl.DataFrame"
    native: Any
    share: float


class Writer(Protocol):
    """Writes batches with their clusters, in the order of the file."""

    def write(
        self, batch: Batch, labels: NDArray[np.intp], confidence: NDArray[np.float64]
    ) -> None:
        """Write the m rows of a batch with their cluster and confidence, (m,) each."""


class Source(Protocol):
    """A file that can be read any number of times.

    name: used in messages; columns: all columns; aside: those used only on demand;
    text_is_data: whether numbers are stored as text.
    """

    name: str
    columns: tuple[str, ...]
    aside: tuple[LeftOut, ...]
    text_is_data: bool
    suffixes: tuple[str, ...]

    def batches(self) -> Iterator[Batch]:
        """The rows of the file."""

    def writer(self, target: Path) -> AbstractContextManager[Writer]:
        """A writer of the rows with their clusters, in the format of this file."""


@dataclass(frozen=True)
class Table:
    """The columns of a file as numbers: values (m, d) float64, names of the d columns.

    n_rows: number of rows in the file; rows: the row numbers (m,) of the values, in their order,
    all unless the file is sampled; encoding: how the columns that are clustered by became numbers;
    filled: columns whose missing values were filled; notes: messages to the user.
    """

    names: tuple[str, ...]
    values: NDArray[np.float64]
    n_rows: int
    rows: NDArray[np.intp]
    encoding: TableEncoding
    left_out: tuple[LeftOut, ...] = ()
    filled: tuple[Filled, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_sample(self) -> bool:
        """Whether the values are a sample of the file."""
        return len(self.values) < self.n_rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the file that are clustered by."""
        return self.encoding.columns

    @property
    def encoded(self) -> EncodedTable:
        """The values as an estimator takes them."""
        return EncodedTable(self.values, self.encoding)


def polars() -> ModuleType:
    """polars, or an error that names the extra to install."""
    try:
        import polars
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "reading tables needs polars: pip install 'coterie[io]'", name="polars"
        ) from error
    return polars


def polars_errors() -> tuple[type[BaseException], ...]:
    """What polars raises for data that it cannot take: errors, and panics of its engine.

    A panic is no `Exception`, so that a handler of errors would let it pass.
    """
    errors = polars().exceptions
    return (errors.PolarsError, errors.PanicException)


def pyarrow() -> ModuleType:
    """pyarrow, or an error that names the extra to install."""
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.ipc
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "reading tables needs pyarrow: pip install 'coterie[io]'", name="pyarrow"
        ) from error
    return pyarrow


def fastexcel() -> ModuleType:
    """fastexcel, or an error that names the extra to install."""
    try:
        import fastexcel
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "reading Excel files needs fastexcel: pip install 'coterie[excel]'", name="fastexcel"
        ) from error
    return fastexcel


def xlsxwriter() -> ModuleType:
    """xlsxwriter, or an error that names the extra to install."""
    try:
        import xlsxwriter
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "writing Excel files needs xlsxwriter: pip install 'coterie[excel]'", name="xlsxwriter"
        ) from error
    return xlsxwriter


def as_frame(batch: Any, columns: tuple[str, ...]) -> "pl.DataFrame":
    """An Arrow batch as a data frame with these names, because polars renames unnamed columns.

    Notes on the whole table may be any bytes; polars would panic at those that are no text.
    """
    frame: pl.DataFrame = polars().from_arrow(batch.replace_schema_metadata())
    frame.columns = list(columns)
    return frame
