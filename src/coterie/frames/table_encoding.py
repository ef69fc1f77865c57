"""Encode the columns of a table as numbers, the same for data frames and for files.

- Numeric columns are kept; missing values get the median of their column. Booleans, also the texts
  true and false, are one and zero. Texts such as $1,234.50 and 3.0% are numbers too.
- A categorical column (text, or declared as such) becomes one indicator per category, scaled so
  that their total variance is that of an average numeric column. A missing value, or a category
  that was not present in fit, is encoded as zeros.
- Dropped are identifiers of the rows and constants (`column_roles.py`), dates, empty columns, and
  categorical columns that do not separate clusters: a single category, more than MAX_LEVELS
  categories, or fewer than two rows per category, as for names and account numbers. Identifiers
  and constants stay where a table has nothing else, and where the user names them.

Notes that name the columns describe every change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.frames.column_parts import Indicators, Numbers, Omission, Part, Remarks
from coterie.frames.column_roles import (
    CONSTANT,
    DATES,
    IDENTIFIES,
    LeftOut,
    are_dates,
    identifies,
    is_constant,
    truths_of,
)
from coterie.frames.encoded_table import TableEncoding
from coterie.frames.protocol import NUMERIC
from coterie.frames.table_columns import FrameColumn, as_categories, read_columns
from coterie.frames.written_numbers import READ_AS_NUMBERS, numbers_of

MANY = "different values"
MAX_LEVELS = 30
MAX_ASKED_LEVELS = 1_000  # of a column that the user calls categorical


@dataclass(frozen=True)
class ColumnChoice:
    """The columns that a user names: those to cluster by, to drop, and to take for categories."""

    columns: Sequence[str] = ()
    exclude: Sequence[str] = ()
    categorical: Sequence[str] = ()

    def check(self, names: Sequence[str]) -> None:
        """Raise for a name that the table does not have."""
        for name in (*self.columns, *self.exclude, *self.categorical):
            if name not in names:
                raise ValueError(f"X has no column {name!r}")
        for name in (*self.columns, *self.categorical):
            if name in self.exclude:
                raise ValueError(f"column {name!r} is both selected and excluded")


class NoUsableColumnError(ValueError):
    """A table without a column to cluster by; left_out: why each was dropped."""

    def __init__(self, message: str, left_out: tuple[LeftOut, ...]) -> None:
        super().__init__(message)
        self.left_out = left_out


class _Verdict(NamedTuple):
    """What becomes of a column: dropped if there is a reason; said: whether it needs a note.

    written: the forms in which its numbers were written as text.
    """

    column: FrameColumn
    reason: str | None = None
    said: bool = True
    written: tuple[str, ...] = ()


def fit_encoding(frame: Any, choice: ColumnChoice | None = None) -> TableEncoding:
    """Fit the encoding of each column of a data frame with one row or more."""
    return fit_columns(list(read_columns(frame)), choice)


def fit_columns(
    columns: Sequence[FrameColumn],
    choice: ColumnChoice | None = None,
    *,
    as_given: bool = False,
    asked: bool = False,
) -> TableEncoding:
    """Fit the encoding of columns with one row or more.

    as_given: whether identifiers and constants stay, as in an array; asked: whether the user named
    all of these columns, which has the same effect, and makes it an error if one cannot be used.
    """
    choice = ColumnChoice() if choice is None else choice
    choice.check([column.name for column in columns])
    asked = asked or bool(choice.columns)
    verdicts = [_judge(column, choice, stays=asked or as_given) for column in columns]
    verdicts = _with_a_column(verdicts)
    remarks = Remarks()
    for column, reason, said, _ in verdicts:
        if reason is not None and said:
            if asked or column.name in choice.categorical:
                raise ValueError(f"column {column.name!r} cannot be used for clustering: {reason}")
            remarks.add("columns dropped", column.name, reason)
    return _fitted(verdicts, remarks)


def _judge(column: FrameColumn, choice: ColumnChoice, *, stays: bool) -> _Verdict:
    if column.name in choice.exclude:
        return _Verdict(column, "excluded", said=False)
    if choice.columns and column.name not in (*choice.columns, *choice.categorical):
        return _Verdict(column, "not among the columns", said=False)
    if column.name in choice.categorical:
        column = as_categories(column)
        return _Verdict(column, _reason_against_levels(column, MAX_ASKED_LEVELS))
    if are_dates(column):
        return _Verdict(column, f"{DATES}; turn them into numbers to use them")
    truths = truths_of(column)
    if truths is not None:
        column = FrameColumn(column.name, "truths", truths)
    written = numbers_of(column)
    if written is not None and written.kinds:  # plain digits may be names: zones, postcodes
        column = FrameColumn(column.name, "numbers", written.values)
        return _judge(column, choice, stays=stays)._replace(written=written.kinds)
    if column.kind == "categories":
        return _Verdict(column, _reason_against_levels(column, MAX_LEVELS))
    if np.isnan(column.values).all():
        return _Verdict(column, "no values")
    if stays:
        return _Verdict(column)
    return _Verdict(column, CONSTANT if is_constant(column) else identifies(column))


def _with_a_column(verdicts: list[_Verdict]) -> list[_Verdict]:
    """If no column is left, those that were dropped for what they say: identifiers, constants."""
    for kind in (IDENTIFIES, CONSTANT):
        if any(verdict.reason is None for verdict in verdicts):
            break
        verdicts = [
            verdict._replace(reason=None)
            if verdict.reason is not None
            and verdict.reason.startswith(kind)
            and verdict.column.kind != "categories"
            else verdict
            for verdict in verdicts
        ]
    return verdicts


def _reason_against_levels(column: FrameColumn, most: int) -> str | None:
    """Why the categories of a column are of no use."""
    sizes = _level_sizes(column)
    n_levels, n_present = int(np.count_nonzero(sizes)), int(sizes.sum())
    if n_levels == 0:
        return "no values"
    if n_levels == 1 and n_present == len(column.values):
        return CONSTANT
    if n_levels > (most if most > MAX_LEVELS else min(most, n_present / 2)):
        return f"{n_levels:,} {MANY} in {n_present:,} rows"
    return None


def _level_sizes(column: FrameColumn) -> NDArray[np.intp]:
    return np.bincount(column.values + 1, minlength=len(column.levels) + 1)[1:]


def _fitted(verdicts: Sequence[_Verdict], remarks: Remarks) -> TableEncoding:
    used = [each.column for each in verdicts if each.reason is None]
    numbers = [column.values for column in used if column.kind == "numbers"]
    unit = _typical_deviation(numbers) if len(numbers) < len(used) else 1.0
    parts: list[Part] = []
    names: list[str] = []
    groups: list[int] = []
    said = Remarks()
    for at, (column, reason, _, written) in enumerate(verdicts):
        if reason is not None:
            parts.append(Omission(column.kind in ("numbers", "truths")))
        elif column.kind == "categories":
            part = _indicators(column, unit)
            said.add("columns encoded as categories", column.name, f"{len(part.levels)} of them")
            parts.append(part)
            names += [f"{column.name}={level}" for level in part.levels]
            groups += [at] * len(part.levels)
        else:
            parts.append(Numbers.of(column.values))
            names.append(column.name)
            groups.append(at if column.kind == "truths" else NUMERIC)
            if written:
                said.add(READ_AS_NUMBERS, column.name, ", ".join(written))
    notes = (*said.sentences(), *remarks.sentences())
    left_out = tuple(LeftOut(each.column.name, each.reason) for each in verdicts if each.reason)
    if not names:
        raise NoUsableColumnError(f"X has no usable column; {'; '.join(notes)}", left_out)
    return TableEncoding(
        tuple(parts),
        tuple(each.column.name for each in verdicts),
        tuple(names),
        np.array(groups, dtype=np.intp),
        left_out,
        notes,
    )


def _indicators(column: FrameColumn, unit: float) -> Indicators:
    sizes = _level_sizes(column)
    # In one order, whatever that of the rows: a sum's last bit depends on it.
    shares = np.sort(sizes) / len(column.values)
    present = [level for level, size in zip(column.levels, sizes, strict=True) if size]
    total_variance = float((shares * (1 - shares)).sum())
    return Indicators(tuple(sorted(present)), unit / np.sqrt(total_variance))


def _typical_deviation(columns: Sequence[NDArray[np.float64]]) -> float:
    """The root of the mean variance of numeric columns; one if that is 0 or no float."""
    seen = [values[np.isfinite(values)] for values in columns]
    # Sorted, so that the order of the rows does not change a bit.
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers that are refused soon
        variances = [np.sort(values).var() for values in seen if len(values)]
    deviation = float(np.sqrt(np.mean(variances))) if variances else 0.0
    return deviation if 0 < deviation < np.inf else 1.0
