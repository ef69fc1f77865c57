"""What passes between a file and a clustering."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

ADDED = ("cluster", "confidence")
TEXT = "text"


class SourceError(ValueError):
    """A file that cannot be read as a table of finite numbers."""


class LeftOut(NamedTuple):
    """A column that is not used, and why."""

    name: str
    reason: str

    @property
    def is_text(self) -> bool:
        """Whether it is left out because it is text."""
        return self.reason.startswith(TEXT)


class Filled(NamedTuple):
    """A column of numbers with gaps: how many the file has, and the median that is put there."""

    name: str
    gaps: int
    median: float


class Batch(NamedTuple):
    """Rows that follow each other in a file.

    frame: as a data frame; native: as the file's own format holds them; share: how much of the
    file is read with them, 0 to 1.
    """

    frame: "pl.DataFrame"
    native: Any
    share: float


class Writer(Protocol):
    """What writes batches with their clusters, in the order of the file."""

    def write(
        self, batch: Batch, labels: NDArray[np.intp], confidence: NDArray[np.float64]
    ) -> None:
        """Write the m rows of a batch with their cluster and confidence, (m,) each."""


class Source(Protocol):
    """A file that can be read from its start any number of times.

    name: what messages call it; columns: all it has; aside: those that are only used on demand;
    text_is_data: whether numbers in it are written as text.
    """

    name: str
    columns: tuple[str, ...]
    aside: tuple[LeftOut, ...]
    text_is_data: bool
    suffixes: tuple[str, ...]

    def batches(self) -> Iterator[Batch]:
        """The rows of the file."""

    def writer(self, target: Path) -> AbstractContextManager[Writer]:
        """What writes the rows with their clusters in the format of this file."""


@dataclass(frozen=True)
class Table:
    """The columns of numbers of a file: values (m, d) float64, names of its d columns.

    n_rows: how many rows the file has; rows: which of them are here (m,), in their order, all of
    them unless the file is longer than what may be held in memory; filled: the columns that have
    gaps in the file and none here; notes: what to look at.
    """

    names: tuple[str, ...]
    values: NDArray[np.float64]
    n_rows: int
    rows: NDArray[np.intp]
    left_out: tuple[LeftOut, ...] = ()
    filled: tuple[Filled, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_sample(self) -> bool:
        """Whether the file has more rows than are here."""
        return len(self.values) < self.n_rows


def polars() -> ModuleType:
    """The library of data frames, or an error that names the extra it comes with."""
    try:
        import polars
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "reading tables needs polars: pip install 'coterie[io]'", name="polars"
        ) from error
    return polars


def pyarrow() -> ModuleType:
    """The library of file formats, or an error that names the extra it comes with."""
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


def as_frame(batch: Any, columns: tuple[str, ...]) -> "pl.DataFrame":
    """A batch of Arrow as a data frame with these names; one without a name would get another."""
    frame: pl.DataFrame = polars().from_arrow(batch)
    frame.columns = list(columns)
    return frame
