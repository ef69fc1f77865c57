"""The columns of a data frame of any library.

pandas, polars and pyarrow are read through their common interface, so none of them is required.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Kind = Literal["numbers", "truths", "categories", "dates"]

# Names of the categorical data types in the three libraries.
DECLARED = ("category", "categorical", "enum", "dictionary")
# Texts that stand for a missing category, in any case. Not "none", which may be a category.
MISSING_TEXT = ("", "na", "n/a", "nan", "null", "?")

TOO_LARGE = "an integer that is too large for a floating-point number"


class FrameColumn(NamedTuple):
    """One column and its values (n,).

    Numbers and truths are floats, NaN if missing; categories are indices of the levels, in order of
    appearance, -1 if missing; dates are as they came.
    """

    name: str
    kind: Kind
    values: NDArray
    levels: tuple[str, ...] = ()


def column_names(table: Any) -> list[str] | None:
    """The column names of a data frame, or None for other objects."""
    names = getattr(table, "column_names", None)
    if names is None:
        names = getattr(table, "columns", None)
    shape = getattr(table, "shape", None)
    if names is None or not isinstance(shape, tuple) or len(shape) != 2:
        return None
    return [str(name) for name in names]


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names, with a number appended to duplicates; linear in their number."""
    taken: set[str] = set()
    tried: dict[str, int] = {}  # the largest number appended to each name
    found: list[str] = []
    for name in names:
        number, candidate = tried.get(name, 1), name
        while candidate in taken:
            number += 1
            candidate = f"{name}_{number}"
        tried[name] = number
        taken.add(candidate)
        found.append(candidate)
    return tuple(found)


def with_distinct_names(frame: Any) -> Any:
    """The frame, or a view of it with a number appended to duplicate names."""
    names = column_names(frame) or []
    if len(set(names)) == len(names):
        return frame
    if hasattr(frame, "set_axis"):
        return frame.set_axis(list(distinct(names)), axis=1)
    return frame.rename_columns(list(distinct(names)))


def read_columns(frame: Any) -> Iterator[FrameColumn]:
    """The columns of a data frame, one by one."""
    for position, name in enumerate(column_names(frame) or ()):
        yield _read(name, _column(frame, position))


def take_rows(frame: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of a data frame or an array, by position."""
    if hasattr(frame, "iloc"):
        return frame.iloc[rows]
    return frame.take(rows) if hasattr(frame, "column") else frame[rows]


def as_categories(column: FrameColumn) -> FrameColumn:
    """A column of any kind as categories; whole numbers read the same in any numeric type."""
    if column.kind == "categories":
        return column
    if column.kind == "dates":
        return coded(column.name, [None if _is_gap(each) else each for each in column.values])
    return coded(column.name, column.values.tolist())


def coded(name: str, cells: Iterable[Any]) -> FrameColumn:
    """Cells of any type as a categorical column."""
    place: dict[str | None, int] = {None: -1}
    known: dict[str, int] = {}  # texts as they came, which spares most of the work
    codes = []
    for cell in cells:
        code = known.get(cell) if isinstance(cell, str) else None
        if code is None:
            code = place.setdefault(category_of(cell), len(place) - 1)
            if isinstance(cell, str):
                known[cell] = code
        codes.append(code)
    levels = tuple(level for level in place if level is not None)
    return FrameColumn(name, "categories", np.array(codes, dtype=np.intp), levels)


def category_of(cell: Any) -> str | None:
    """A cell as a category, None if missing."""
    if _is_gap(cell):
        return None
    if isinstance(cell, str):
        text = cell.strip()
        return None if text.lower() in MISSING_TEXT else text
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)


def _column(frame: Any, position: int) -> Any:
    """A column by position, because names may be duplicated."""
    if hasattr(frame, "iloc"):
        return frame.iloc[:, position]
    return frame.column(position) if hasattr(frame, "column") else frame[:, position]


def _read(name: str, column: Any) -> FrameColumn:
    declared = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    if declared.startswith(DECLARED):
        return coded(name, _objects(column))
    values = np.asarray(column)
    if values.ndim != 1:  # a list in each cell
        return coded(name, _objects(column))
    if values.dtype == np.float32:  # not converted, to save memory
        return FrameColumn(name, "numbers", values)
    if values.dtype.kind in "iuf":
        return FrameColumn(name, "numbers", values.astype(np.float64, copy=False))
    if values.dtype.kind == "b":
        return FrameColumn(name, "truths", values.astype(np.float32))
    if values.dtype.kind in "mM":
        return FrameColumn(name, "dates", values)
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r}")
    objects = _objects(column)
    kind = _kind_of_objects(objects)
    if kind == "categories":
        return coded(name, objects)
    if kind in ("numbers", "truths"):
        try:
            return FrameColumn(name, kind, np.array(objects, dtype=np.float64))  # None becomes NaN
        except OverflowError:
            raise ValueError(f"column {name!r} has {TOO_LARGE}") from None
    return FrameColumn(name, kind, objects)


def _objects(column: Any) -> NDArray[np.object_]:
    """The values as Python objects, with None for missing values."""
    if hasattr(column, "isna"):
        column = column.astype(object).where(column.notna(), None)
        return np.asarray(column, dtype=object)
    # As an array, a missing value in a pyarrow dictionary would become one of its values.
    listed = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    objects = np.empty(len(listed), dtype=object)
    objects[:] = listed
    return objects


def _kind_of_objects(objects: NDArray[np.object_]) -> Kind:
    types = {type(value) for value in objects if value is not None}
    if not types:
        return "numbers"  # an empty column is treated as numeric
    if all(issubclass(each, bool | np.bool_) for each in types):
        return "truths"
    if all(issubclass(each, Real | Decimal | np.bool_) for each in types):
        return "numbers"
    if all(issubclass(each, date | timedelta) for each in types):
        return "dates"
    return "categories"


def _is_gap(cell: Any) -> bool:
    return cell is None or (not isinstance(cell, np.ndarray) and bool(cell != cell))
