"""Encode data frames as numbers: categories become indicators, missing values are filled.

- Numeric columns are kept; missing values get the median of their column. Booleans are one and
  zero.
- A categorical column (text, or declared as such) becomes one indicator per category, scaled so
  that their total variance is that of an average numeric column. A missing value, or a category
  that was not present in fit, is encoded as zeros.
- Dropped are dates, empty columns, and categorical columns that do not separate clusters: a single
  category, more than MAX_LEVELS categories, or fewer than two rows per category, as for names and
  account numbers.

Notes that name the columns describe every change.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.frames.standard import NUMERIC, Groups
from coterie.frames.table_columns import FrameColumn, read_columns

MAX_LEVELS = 30
FILLED = "missing values filled with the median"


class Encoded(NamedTuple):
    """The encoded table (n, d), and notes on the changes."""

    table: NDArray
    notes: tuple[str, ...]


class Part(Protocol):
    """The encoding of one column of a frame."""

    def encode(self, column: FrameColumn, remarks: "Remarks") -> NDArray[np.float64]:
        """The column's values (n,) -> (n, m) for any number m of columns."""


class Remarks:
    """Notes on the columns, grouped by the change."""

    def __init__(self) -> None:
        self._columns: dict[str, list[str]] = {}

    def add(self, change: str, column: str, detail: str) -> None:
        """Note a change of a column."""
        self._columns.setdefault(change, []).append(f"{column!r} ({detail})")

    def count(self, change: str, column: str, number: int) -> None:
        """Note a change of some values of a column."""
        self.add(change, column, f"{number:,} value{'s' if number > 1 else ''}")

    def sentences(self) -> tuple[str, ...]:
        """One sentence per kind of change."""
        return tuple(f"{change}: {', '.join(names)}" for change, names in self._columns.items())


@dataclass(frozen=True)
class Numbers:
    """A numeric column, or a boolean one as one and zero."""

    median: float

    @classmethod
    def of(cls, values: NDArray) -> "Numbers":
        """Fit the median of values (n,), NaN if missing, of which at least one is present."""
        return cls(float(np.nanmedian(values)))

    def fill(self, values: NDArray) -> NDArray:
        """(n,) -> (n,) with missing values replaced by the median."""
        return np.where(np.isnan(values), self.median, values)

    def encode(self, column: FrameColumn, remarks: Remarks) -> NDArray[np.float64]:
        """(n,) -> (n, 1) with missing values replaced by the median."""
        if column.kind in ("categories", "dates"):
            raise ValueError(
                f"column {column.name!r} held numbers in fit and holds {column.kind} now"
            )
        gaps = np.isnan(column.values)
        if not gaps.any():
            return column.values[:, None]
        remarks.count(FILLED, column.name, int(gaps.sum()))
        return self.fill(column.values)[:, None]


@dataclass(frozen=True)
class Indicators:
    """A categorical column; height is the value of an indicator that is set."""

    levels: tuple[str, ...]
    height: float

    def encode(self, column: FrameColumn, remarks: Remarks) -> NDArray[np.float64]:
        """(n,) -> (n, levels)."""
        if column.kind == "dates":
            raise ValueError(f"column {column.name!r} held categories in fit and holds dates now")
        place: dict[str | None, int] = {level: at for at, level in enumerate(self.levels)}
        keys = _keys(column)
        found = np.fromiter((place.get(key, -1) for key in keys), np.intp, len(keys))
        gaps = np.fromiter((key is None for key in keys), bool, len(keys))
        if gaps.any():
            remarks.count("missing values encoded as no category", column.name, int(gaps.sum()))
        unseen = (found < 0) & ~gaps
        if unseen.any():
            remarks.count(
                "values not present in fit, encoded as no category", column.name, int(unseen.sum())
            )
        return self.height * (found[:, None] == np.arange(len(self.levels)))


@dataclass(frozen=True)
class Omission:
    """A dropped column."""

    def encode(self, column: FrameColumn, remarks: Remarks) -> NDArray[np.float64]:
        """(n,) -> (n, 0)."""
        return np.empty((len(column.values), 0))


@dataclass(frozen=True)
class TableEncoding:
    """The fitted encodings, one per column of the frame, and notes on them.

    names, groups: of the d encoded columns; groups (d,) as `fit_standard` expects them.
    """

    parts: tuple[Part, ...]
    names: tuple[str, ...]
    groups: Groups
    notes: tuple[str, ...]

    @property
    def is_plain(self) -> bool:
        """Whether every column is numeric, so that an array would be equivalent."""
        return all(isinstance(part, Numbers) for part in self.parts)

    def __call__(self, frame: Any) -> Encoded:
        """Encode a frame with the columns of the fitted one."""
        remarks = Remarks()
        pairs = zip(self.parts, read_columns(frame), strict=True)
        columns = [part.encode(column, remarks) for part, column in pairs]
        return Encoded(np.concatenate(columns, axis=1), remarks.sentences())


def fit_encoding(frame: Any) -> TableEncoding:
    """Fit the encoding of each column of a data frame with one row or more."""
    columns, remarks = list(read_columns(frame)), Remarks()
    unit = _typical_deviation([each.values for each in columns if each.kind == "numbers"])
    parts = tuple(_part(column, unit, remarks) for column in columns)
    names: list[str] = []
    groups: list[int] = []
    for at, (column, part) in enumerate(zip(columns, parts, strict=True)):
        if isinstance(part, Indicators):
            names += [f"{column.name}={level}" for level in part.levels]
            groups += [at] * len(part.levels)
        elif isinstance(part, Numbers):
            names.append(column.name)
            groups.append(at if column.kind == "truths" else NUMERIC)
    notes = remarks.sentences()
    if not names:
        raise ValueError(f"X has no usable column; {'; '.join(notes)}")
    return TableEncoding(parts, tuple(names), np.array(groups, dtype=np.intp), notes)


def _part(column: FrameColumn, unit: float, remarks: Remarks) -> Part:
    reason = _reason_to_omit(column)
    if reason is not None:
        remarks.add("columns dropped", column.name, reason)
        return Omission()
    if column.kind != "categories":
        return Numbers.of(column.values)
    sizes = Counter(key for key in _keys(column) if key is not None)
    remarks.add("columns encoded as categories", column.name, f"{len(sizes)} of them")
    shares = np.array(list(sizes.values())) / len(column.values)
    total_variance = float((shares * (1 - shares)).sum())
    return Indicators(tuple(sorted(sizes)), unit / np.sqrt(total_variance))


def _reason_to_omit(column: FrameColumn) -> str | None:
    if column.kind == "dates":
        return "dates; turn them into numbers to use them"
    if column.kind != "categories":
        return "no values" if np.isnan(column.values).all() else None
    keys = [key for key in _keys(column) if key is not None]
    levels = len(set(keys))
    if levels == 0:
        return "no values"
    if levels == 1 and len(keys) == len(column.values):
        return "the same everywhere"
    if levels > min(MAX_LEVELS, len(keys) / 2):
        return f"{levels} different values in {len(keys)} rows"
    return None


def _typical_deviation(columns: Sequence[NDArray[np.float64]]) -> float:
    """The root of the mean variance of numeric columns; one if all are constant."""
    seen = [values[np.isfinite(values)] for values in columns]
    variances = [values.var() for values in seen if len(values)]
    return float(np.sqrt(np.mean(variances))) or 1.0 if variances else 1.0


def _keys(column: FrameColumn) -> list[str | None]:
    """Categories as text, None if missing; integers read the same in any numeric type."""
    return [
        None
        if value is None or value != value
        else str(int(value) if isinstance(value, float) and value.is_integer() else value)
        for value in column.values.tolist()
    ]
