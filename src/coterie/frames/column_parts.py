"""The encoding of one column: kept as numbers, as indicators of categories, or dropped."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.frames.column_roles import truths_of
from coterie.frames.table_columns import FrameColumn, as_categories, category_of
from coterie.frames.written_numbers import numbers_of

FILLED = "missing values filled with the median"
NO_CATEGORY = "missing values encoded as no category"
UNSEEN = "values not present in fit, encoded as no category"


class Part(Protocol):
    """The encoding of one column of a table."""

    def encode(self, column: FrameColumn, remarks: "Remarks") -> NDArray[np.float64]:
        """The column's values (n,) -> (n, m) for any number m of columns."""


class Remarks:
    """Notes on the columns, grouped by the change."""

    def __init__(self) -> None:
        self._details: dict[str, dict[str, str]] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def add(self, change: str, column: str, detail: str) -> None:
        """Note a change of a column."""
        self._details.setdefault(change, {})[column] = detail

    def count(self, change: str, column: str, number: int) -> None:
        """Note a change of some values of a column; numbers of several calls add up."""
        total = self._counts[change, column] = self._counts.get((change, column), 0) + number
        self.add(change, column, f"{total:,} value{'s' if total > 1 else ''}")

    def sentences(self) -> tuple[str, ...]:
        """One sentence per kind of change."""
        return tuple(
            f"{change}: {', '.join(f'{name!r} ({detail})' for name, detail in columns.items())}"
            for change, columns in self._details.items()
        )


@dataclass(frozen=True)
class Numbers:
    """A numeric column, or a boolean one as one and zero."""

    median: float

    @classmethod
    def of(cls, values: NDArray) -> "Numbers":
        """Fit the median of values (n,), NaN if missing, of which at least one is present."""
        return cls(float(np.median(values[~np.isnan(values)])))  # nanmedian takes twice as long

    def fill(self, values: NDArray) -> NDArray:
        """(n,) -> (n,) with missing values replaced by the median."""
        return np.where(np.isnan(values), self.median, values)

    def encode(self, column: FrameColumn, remarks: Remarks) -> NDArray[np.float64]:
        """(n,) -> (n, 1) with missing values replaced by the median."""
        values = column.values if column.kind in ("numbers", "truths") else truths_of(column)
        if values is None and (written := numbers_of(column)) is not None:
            values = written.values
        if values is None and column.kind == "categories" and not column.levels:
            values = np.full(len(column.values), np.nan)  # all of them missing
        if values is None:
            raise ValueError(
                f"column {column.name!r} held numbers in fit and holds {column.kind} now"
            )
        gaps = np.isnan(values)
        if not gaps.any():
            return values[:, None]
        remarks.count(FILLED, column.name, int(gaps.sum()))
        return self.fill(values)[:, None]


@dataclass(frozen=True)
class Indicators:
    """A categorical column; height is the value of an indicator that is set."""

    levels: tuple[str, ...]
    height: float

    def encode(self, column: FrameColumn, remarks: Remarks) -> NDArray[np.float64]:
        """(n,) -> (n, levels)."""
        if column.kind == "dates":
            raise ValueError(f"column {column.name!r} held categories in fit and holds dates now")
        column = as_categories(column)
        place: dict[str | None, int] = {level: at for at, level in enumerate(self.levels)}
        places = [place.get(level, place.get(_as_number(level), -1)) for level in column.levels]
        gaps = column.values < 0
        found = np.array([*places, -1], dtype=np.intp)[column.values]
        if gaps.any():
            remarks.count(NO_CATEGORY, column.name, int(gaps.sum()))
        unseen = (found < 0) & ~gaps
        if unseen.any():
            remarks.count(UNSEEN, column.name, int(unseen.sum()))
        return self.height * (found[:, None] == np.arange(len(self.levels)))


@dataclass(frozen=True)
class Omission:
    """A dropped column; numeric: whether it held numbers."""

    numeric: bool = False

    def encode(self, column: FrameColumn, remarks: Remarks) -> NDArray[np.float64]:
        """(n,) -> (n, 0)."""
        return np.empty((len(column.values), 0))


def _as_number(level: str) -> str | None:
    """A category that is a number as it would read in a numeric column: 01 and 1.0 -> 1."""
    try:
        return category_of(float(level))
    except ValueError:
        return None
