"""Which columns of a file are clustered, and why the others are dropped."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from coterie.data.tables.table import TEXT, LeftOut, Source, SourceError, polars

if TYPE_CHECKING:
    import polars as pl

MISSING = ("", "na", "n/a", "nan", "null", "none", "?")  # in any case
BOOLEANS = {"true": 1.0, "false": 0.0}  # in any case
NAMELESS = ("", "__index_level_0__", "Unnamed: 0")  # names of exported row numbers


@dataclass(frozen=True)
class Choice:
    """The user's choice: columns to use or to exclude, row identifiers, and the true clusters.

    An entry is a column name or several separated by commas.
    """

    columns: Sequence[str] = ()
    exclude: Sequence[str] = ()
    ids: Sequence[str] = ()
    truth: Sequence[str] = ()

    def of(self, source: Source) -> "Chosen":
        """The candidate columns of a source, and the reasons for dropping the others."""
        only = named(source, self.columns)
        reasons = dict(source.aside)
        reasons.update({name: "not among --columns" for name in source.columns if only})
        for name in only:
            reasons.pop(name, None)
        reasons.update(dict.fromkeys(named(source, self.exclude), "excluded"))
        reasons.update(dict.fromkeys(named(source, self.ids), "identifies the rows"))
        reasons.update(dict.fromkeys(named(source, self.truth), "holds the true groups"))
        tried = tuple(name for name in source.columns if name not in reasons)
        for name in only:
            if name not in tried:
                raise SourceError(f"column {name!r} is both selected and excluded")
        if not tried:
            raise SourceError(f"all columns of {source.name} are excluded")
        return Chosen(tried, reasons, insisted=bool(only))


@dataclass(frozen=True)
class Chosen:
    """Candidate columns, reasons against the others; insisted: whether the user named them."""

    tried: tuple[str, ...]
    reasons: dict[str, str]
    insisted: bool


def named(source: Source, entries: Sequence[str]) -> tuple[str, ...]:
    """The columns that entries name; a column name may contain commas."""
    found: list[str] = []
    for entry in entries:
        whole = entry in source.columns
        for name in [entry] if whole else [part.strip() for part in entry.split(",")]:
            if name not in source.columns:
                has = ", ".join(map(repr, source.columns[:12]))
                more = ", ..." if len(source.columns) > 12 else ""
                raise SourceError(f"{source.name} has no column {name!r}; it has {has}{more}")
            found.append(name)
    return tuple(dict.fromkeys(found))


class Column:
    """Statistics of a column over the batches read so far."""

    def __init__(self, name: str, *, text_is_data: bool) -> None:
        self.name = name
        self.reason: str | None = None
        self.gaps = 0
        self.infinite = 0
        self.first_infinite: int | None = None
        self._text_is_data = text_is_data
        self._there_are_values = False
        self._counts = True
        self._last: float | None = None

    def read(self, column: "pl.Series", start: int) -> NDArray[np.float64]:
        """The numbers (m,) of a batch that begins at row start; NaN if missing."""
        if self.reason is not None:
            return np.full(len(column), np.nan)
        numbers = self._numbers(column, start)
        if numbers is None:
            return np.full(len(column), np.nan)
        gaps = np.isnan(numbers)
        self.gaps += int(gaps.sum())
        self._there_are_values |= not gaps.all()
        self._note_infinite(numbers, start)
        before = numbers[:1] - 1 if self._last is None else [self._last]
        with np.errstate(invalid="ignore"):  # inf - inf is NaN
            self._counts &= bool((np.diff(numbers, prepend=before) == 1).all())
        self._last = float(numbers[-1])
        return numbers

    def left_out(self) -> LeftOut | None:
        """Why the column cannot be used, after all batches."""
        if self.reason is not None:
            return LeftOut(self.name, self.reason)
        if not self._there_are_values:
            return LeftOut(self.name, "no values")
        if self._counts and self.name in NAMELESS:
            return LeftOut(self.name, "unnamed row numbers")
        return None

    @property
    def counts_rows(self) -> bool:
        """Whether each value is one more than the one before it."""
        return self._counts

    def _numbers(self, column: "pl.Series", start: int) -> NDArray[np.float64] | None:
        kinds = polars()
        kind = column.dtype
        if kind == kinds.String and self._text_is_data:
            return self._parsed(column, start)
        if kind == kinds.Null:
            return np.full(len(column), np.nan)
        if not (kind.is_numeric() or kind == kinds.Boolean):
            self.reason = _kind(kind)
            return None
        numbers: NDArray[np.float64] = column.cast(kinds.Float64).fill_null(float("nan")).to_numpy()
        return numbers

    def _parsed(self, column: "pl.Series", start: int) -> NDArray[np.float64] | None:
        text = column.str.strip_chars().str.to_lowercase().fill_null("")
        numbers = text.cast(polars().Float64, strict=False)
        truths = text.replace_strict(BOOLEANS, default=None, return_dtype=polars().Float64)
        numbers = numbers.fill_null(truths)
        wrong = (numbers.is_null() & ~text.is_in(MISSING)).arg_true()
        if len(wrong):
            row = int(wrong[0])
            self.reason = f"{TEXT}, {_short(column[row])} in row {start + row + 1}"
            return None
        parsed: NDArray[np.float64] = numbers.fill_null(float("nan")).to_numpy()
        return parsed

    def _note_infinite(self, numbers: NDArray[np.float64], start: int) -> None:
        wrong = np.isinf(numbers)
        if wrong.any():
            self.infinite += int(wrong.sum())
            if self.first_infinite is None:
                self.first_infinite = start + int(np.argmax(wrong))


def refuse_infinite(source: Source, columns: Sequence[Column]) -> None:
    """Raise for infinite values, naming the first."""
    first = [
        (column.first_infinite, column.name)
        for column in columns
        if column.first_infinite is not None
    ]
    if not first:
        return
    row, name = min(first)
    others = sum(column.infinite for column in columns) - 1
    more = f", and {others:,} more" if others else ""
    raise SourceError(
        f"{source.name} has an infinite value in row {row + 1}, counted without the header,"
        f" column {name!r}{more}; correct it, or drop columns with --exclude"
    )


def refuse_no_numbers(source: Source, left_out: Sequence[LeftOut]) -> NoReturn:
    """Raise for a file without a usable column."""
    reasons = ", ".join(f"{name!r}: {reason}" for name, reason in left_out[:8])
    hint = ""
    if len(source.columns) == 1 and source.text_is_data:
        hint = "; if the separator is another character, set it with --sep"
    raise SourceError(f"{source.name} has no numeric column ({reasons}){hint}")


def _kind(kind: "pl.DataType") -> str:
    if kind.is_temporal():
        return "dates or times"
    kinds = polars()
    if kind in (kinds.String, kinds.Categorical, kinds.Enum):
        return TEXT
    return f"not numbers but {str(kind).lower()}"


def _short(text: str, width: int = 24) -> str:
    return repr(text if len(text) <= width else text[: width - 3] + "...")
