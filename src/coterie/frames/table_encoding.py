"""Tables as people have them, made numbers: categories become indicators, gaps are filled.

- Numbers stay; a gap gets the median of its column. True and false are one and zero.
- A column of categories (text, or declared as such) becomes one indicator for each of its values,
  scaled so that together they vary as much as a column of numbers does on average. A gap, or a
  value that the fit has not seen, has no indicator: zeros.
- Left out are dates, columns without a value, and columns of categories that cannot tell clusters
  apart: one value only, more than MAX_LEVELS of them, or fewer than two rows to a value, as in
  names and numbers of accounts.

Whatever is done is said in notes that name the columns.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.frames.standard import NUMERIC, Groups
from coterie.frames.table_columns import Column, read_columns

MAX_LEVELS = 30
FILLED = "missing values filled with the median"


class Encoded(NamedTuple):
    """Numbers (n, d) of a table, and what had to be done to get them, in words."""

    table: NDArray
    notes: tuple[str, ...]


class Part(Protocol):
    """How one column of a frame becomes columns of numbers."""

    def encode(self, column: Column, remarks: "Remarks") -> NDArray[np.float64]:
        """The column's values (n,) -> (n, any number of columns)."""


class Remarks:
    """What is to be said of the columns, by what was done."""

    def __init__(self) -> None:
        self._said: dict[str, list[str]] = {}

    def add(self, deed: str, column: str, detail: str) -> None:
        """Note that something was done to a column."""
        self._said.setdefault(deed, []).append(f"{column!r} ({detail})")

    def count(self, deed: str, column: str, number: int) -> None:
        """Note that something was done to a number of a column's values."""
        self.add(deed, column, f"{number:,} value{'s' if number > 1 else ''}")

    def sentences(self) -> tuple[str, ...]:
        """One sentence for each kind of thing done."""
        return tuple(f"{deed}: {', '.join(columns)}" for deed, columns in self._said.items())


@dataclass(frozen=True)
class Numbers:
    """A column of numbers, or of truths as one and zero."""

    median: float

    @classmethod
    def of(cls, values: NDArray) -> "Numbers":
        """The part that fits values (n,), NaN for a gap, of which one at least is none."""
        return cls(float(np.nanmedian(values)))

    def fill(self, values: NDArray) -> NDArray:
        """(n,) -> (n,) with the median in every gap."""
        return np.where(np.isnan(values), self.median, values)

    def encode(self, column: Column, remarks: Remarks) -> NDArray[np.float64]:
        """(n,) -> (n, 1) with the median in every gap."""
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
    """A column of categories; height is the value of an indicator that is set."""

    levels: tuple[str, ...]
    height: float

    def encode(self, column: Column, remarks: Remarks) -> NDArray[np.float64]:
        """(n,) -> (n, levels)."""
        if column.kind == "dates":
            raise ValueError(f"column {column.name!r} held categories in fit and holds dates now")
        place: dict[str | None, int] = {level: at for at, level in enumerate(self.levels)}
        keys = _keys(column)
        found = np.fromiter((place.get(key, -1) for key in keys), np.intp, len(keys))
        gaps = np.fromiter((key is None for key in keys), bool, len(keys))
        if gaps.any():
            remarks.count("missing values that belong to no category", column.name, int(gaps.sum()))
        unseen = (found < 0) & ~gaps
        if unseen.any():
            remarks.count(
                "values that fit has not seen, in no category", column.name, int(unseen.sum())
            )
        return self.height * (found[:, None] == np.arange(len(self.levels)))


@dataclass(frozen=True)
class Omission:
    """A column that is not used."""

    def encode(self, column: Column, remarks: Remarks) -> NDArray[np.float64]:
        """(n,) -> (n, 0)."""
        return np.empty((len(column.values), 0))


@dataclass(frozen=True)
class TableEncoding:
    """The fitted parts, one for each column of the frame, and what was decided, in words.

    names, groups: of the d encoded columns, the latter (d,) as `fit_standard` wants them.
    """

    parts: tuple[Part, ...]
    names: tuple[str, ...]
    groups: Groups
    notes: tuple[str, ...]

    @property
    def is_plain(self) -> bool:
        """Whether every column is one of numbers, so that an array would do as well."""
        return all(isinstance(part, Numbers) for part in self.parts)

    def __call__(self, frame: Any) -> Encoded:
        """The numbers of a frame with the columns of the fitted one."""
        remarks = Remarks()
        pairs = zip(self.parts, read_columns(frame), strict=True)
        columns = [part.encode(column, remarks) for part, column in pairs]
        return Encoded(np.concatenate(columns, axis=1), remarks.sentences())


def fit_encoding(frame: Any) -> TableEncoding:
    """Decide how each column of a data frame of one row or more becomes numbers."""
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
        raise ValueError(f"X has no column to cluster by; {'; '.join(notes)}")
    return TableEncoding(parts, tuple(names), np.array(groups, dtype=np.intp), notes)


def _part(column: Column, unit: float, remarks: Remarks) -> Part:
    reason = _reason_to_omit(column)
    if reason is not None:
        remarks.add("columns left out", column.name, reason)
        return Omission()
    if column.kind != "categories":
        return Numbers.of(column.values)
    sizes = Counter(key for key in _keys(column) if key is not None)
    remarks.add("columns encoded as categories", column.name, f"{len(sizes)} of them")
    shares = np.array(list(sizes.values())) / len(column.values)
    total_variance = float((shares * (1 - shares)).sum())
    return Indicators(tuple(sorted(sizes)), unit / np.sqrt(total_variance))


def _reason_to_omit(column: Column) -> str | None:
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
    """The root of the mean variance of columns of numbers; one where nothing varies."""
    seen = [values[np.isfinite(values)] for values in columns]
    variances = [values.var() for values in seen if len(values)]
    return float(np.sqrt(np.mean(variances))) or 1.0 if variances else 1.0


def _keys(column: Column) -> list[str | None]:
    """Categories as text, None for a gap; a whole number reads the same however it is stored."""
    return [
        None
        if value is None or value != value
        else str(int(value) if isinstance(value, float) and value.is_integer() else value)
        for value in column.values.tolist()
    ]
