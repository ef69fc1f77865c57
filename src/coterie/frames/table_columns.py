"""The columns of a data frame of any library.

pandas, polars and pyarrow are read through their common interface, so none of them is required.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Kind = Literal["numbers", "truths", "categories", "dates"]

# Names of the categorical data types in the three libraries.
DECLARED = ("category", "categorical", "enum", "dictionary")


class FrameColumn(NamedTuple):
    """One column and its values (n,): floats with NaN, or objects with None, for missing values."""

    name: str
    kind: Kind
    values: NDArray


def column_names(table: Any) -> list[str] | None:
    """The column names of a data frame, or None for other objects."""
    names = getattr(table, "column_names", None)
    if names is None:
        names = getattr(table, "columns", None)
    if names is None or len(getattr(table, "shape", ())) != 2:
        return None
    return [str(name) for name in names]


def read_columns(frame: Any) -> Iterator[FrameColumn]:
    """The columns of a data frame, one by one."""
    for position, name in enumerate(column_names(frame) or ()):
        yield _read(name, _column(frame, position))


def _column(frame: Any, position: int) -> Any:
    """A column by position, because names may be duplicated."""
    if hasattr(frame, "iloc"):
        return frame.iloc[:, position]
    return frame.column(position) if hasattr(frame, "column") else frame[:, position]


def _read(name: str, column: Any) -> FrameColumn:
    declared = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    if declared.startswith(DECLARED):
        return FrameColumn(name, "categories", _objects(column))
    values = np.asarray(column)
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
    if kind in ("numbers", "truths"):
        return FrameColumn(name, kind, np.array(objects, dtype=np.float64))  # None becomes NaN
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
