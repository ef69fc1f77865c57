"""The partitions of a collection, and errors that name them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from dask import is_dask_collection
from dask.delayed import Delayed

from coterie.estimators.bad_values import refuse_bad_values
from coterie.frames.table_columns import column_names, read_columns

KINDS = {"i": "numbers", "u": "numbers", "f": "numbers", "b": "numbers", "M": "dates", "m": "times"}


class PartitionError(ValueError):
    """A partition that cannot be used; the message names it."""


@contextmanager
def naming(partition: str) -> Iterator[None]:
    """Errors inside say in which partition they happened."""
    try:
        yield
    except PartitionError:
        raise
    except Exception as error:
        raise PartitionError(f"{partition}: {type(error).__name__}: {error}") from error


def is_collection(X: Any) -> bool:
    """Whether X is a collection of dask: a table in partitions."""
    return bool(is_dask_collection(X))


def is_frame(X: Any) -> bool:
    """Whether a collection is a data frame."""
    return hasattr(X, "columns") and hasattr(X, "map_partitions") and X.ndim == 2


def refuse_other_collections(X: Any) -> None:
    """Raise for a collection that is no table."""
    if not is_frame(X) and not (hasattr(X, "map_blocks") and X.ndim == 2):
        raise ValueError(
            f"X is a {type(X).__name__} of dask; a dask.dataframe or a dask.array of two dimensions"
            " is a table"
        )


def partitions_of(X: Any) -> list[Delayed]:
    """The partitions of a collection, all columns in each."""
    refuse_other_collections(X)
    if is_frame(X):
        return list(X.to_delayed())
    return list(whole_rows(X).to_delayed()[:, 0])


def whole_rows(X: Any) -> Any:
    """An array whose blocks hold all columns."""
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def refuse_partition(part: Any, like: Any) -> None:
    """Raise for a partition with other columns than the collection says, or bad numbers.

    like: an empty partition.
    """
    if column_names(part) is None:
        if part.ndim != 2 or part.shape[1] != like.shape[1]:
            raise ValueError(f"an array of shape {part.shape} instead of (n, {like.shape[1]})")
        if part.dtype.kind not in "iufb":
            raise ValueError(f"X has values of the type {part.dtype}, which is not numeric")
        if len(part):
            refuse_bad_values(part)
        return
    _refuse_columns(list(part.columns), list(like.columns))
    for name, own, expected in zip(like.columns, part.dtypes, like.dtypes, strict=True):
        if _kind(own) != _kind(expected):
            raise ValueError(f"column {str(name)!r} has the type {own} instead of {expected}")
    for column in read_columns(part):
        if column.kind == "numbers" and len(column.values):
            known = np.where(np.isnan(column.values), 0.0, column.values)
            refuse_bad_values(known[:, None], [column.name])


def _refuse_columns(own: Sequence[Any], expected: Sequence[Any]) -> None:
    if own == expected:
        return
    missing = [str(name) for name in expected if name not in own]
    more = [str(name) for name in own if name not in expected]
    said = [f"without {', '.join(map(repr, missing))}"] if missing else []
    said += [f"with {', '.join(map(repr, more))}"] if more else []
    raise ValueError(f"other columns than the first partition: {' and '.join(said) or own}")


def _kind(dtype: Any) -> str:
    return KINDS.get(np.dtype(dtype).kind if isinstance(dtype, np.dtype) else dtype.kind, "other")
