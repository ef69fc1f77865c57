"""Rows drawn from the partitions of a table, whatever engine holds them.

Each partition is surveyed where it is; surveys are merged and the rows drawn from the result. They
are those that an estimator draws from the same table in memory, so that `fit_drawn` finds the same
clusters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.frames.table_columns import column_names, take_rows
from coterie.inference.hashed_draw import (
    MAX_ROWS,
    RARITY,
    Counted,
    Sketch,
    draw_copies,
    merge_sketches,
    salted,
    sketch_rows,
)
from coterie.inference.row_hashes import Hashes, row_hashes


@dataclass(frozen=True)
class Survey:
    """What some partitions tell: a sketch, the rows of its first values, missing values (d,)."""

    sketch: Sketch
    rows: Any
    missing: NDArray[np.int64]


class Drawn(NamedTuple):
    """A sample of the rows, the number of all rows, and missing values in each column (d,)."""

    rows: Any
    n_rows: int
    missing: NDArray[np.int64]


class Located(NamedTuple):
    """How many rows have each of m hashes (m,), and a row for some of them, which are named."""

    counts: NDArray[np.int64]
    which: NDArray[np.intp]
    rows: Any


# Where rows with these hashes (m,) are, in each partition.
Locate = Callable[[Hashes], Sequence[Located]]


def survey(part: Any, size: int = MAX_ROWS, salt: int = 0, share: float = 1.0) -> Survey:
    """The survey of one partition, an array or a data frame (n, d), for a sample of size rows.

    share: of all possible values, the part that is kept: `share_of` the rows of all partitions
    saves memory, where these are known. If the merged sketch `is_short`, a survey with one follows.
    """
    sketch, first = sketch_rows(salted(row_hashes(part), salt), size, share)
    rows = take_rows(part, first)
    if column_names(part) is None:
        rows = np.ascontiguousarray(rows)
    return Survey(sketch, rows, _missing(part))


def merge(surveys: Sequence[Survey]) -> Survey:
    """The survey of several partitions together."""
    sketch, first = merge_sketches([each.sketch for each in surveys])
    rows = take_rows(_joined([each.rows for each in surveys]), first)
    return Survey(sketch, rows, np.sum([each.missing for each in surveys], axis=0))


def locate(part: Any, hashes: Hashes, salt: int = 0) -> Located:
    """The rows of a partition with these hashes (m,), which are distinct."""
    counts, first = locate_hashes(salted(row_hashes(part), salt), hashes)
    there = np.flatnonzero(counts)
    return Located(counts, there, take_rows(part, first[there]))


def locate_hashes(own: Hashes, wanted: Hashes) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """How many of own (n,) are each of the wanted ones (m,), which are distinct: (m,).

    And the first that is, (m,), arbitrary where there is none.
    """
    order = np.argsort(wanted)
    place = np.searchsorted(wanted[order], own)
    place[place == len(wanted)] = 0
    which = order[place]
    rows = np.flatnonzero(wanted[which] == own)
    first = np.zeros(len(wanted), dtype=np.intp)
    first[which[rows][::-1]] = rows[::-1]  # of several, the last assignment stays
    return np.bincount(which[rows], minlength=len(wanted)), first


def draw(total: Survey, locate_all: Locate | None = None, size: int | None = None) -> Drawn:
    """The sample, given the survey of all partitions.

    locate_all: asked, in a second pass, where more than one row in RARITY may be equal; size: of
    the sample, by default what the surveys have room for.
    """
    sketch, rows = total.sketch, total.rows
    if sketch.is_short:
        raise ValueError("the surveys hold too small a share of the values for this sample")
    if not sketch.n_rows:
        raise ValueError("there are no rows to cluster")
    candidates = sketch.candidates()
    frequent = Counted(candidates[:0], np.empty(0, dtype=np.int64))
    if len(candidates):
        if locate_all is None:
            raise ValueError(
                "many rows of the table are equal: they must be counted, give draw a function that"
                " locates them in each partition"
            )
        located = locate_all(candidates)
        counts = np.sum([each.counts for each in located], axis=0)
        kept = np.flatnonzero(counts * RARITY > sketch.n_rows)
        frequent = Counted(candidates[kept], counts[kept])  # in the order of drawing already
        which = np.concatenate([each.which for each in located])
        place = dict(zip(which.tolist(), range(len(which)), strict=True))
        taken = np.array([place[number] for number in kept], dtype=np.intp)
        rows = _joined([rows, take_rows(_joined([each.rows for each in located]), taken)])
    drawn = draw_copies(sketch, frequent, sketch.capacity if size is None else size)
    return Drawn(take_rows(rows, drawn.value), sketch.n_rows, total.missing)


def _joined(parts: Sequence[Any]) -> Any:
    if column_names(parts[0]) is None:
        return np.concatenate(parts)
    import pandas as pd

    # Of partitions without rows pandas would take the types.
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def _missing(part: Any) -> NDArray[np.int64]:
    if column_names(part) is not None:
        return part.isna().to_numpy().sum(0).astype(np.int64)
    if not len(part) or not np.isnan(part.max()):  # NaN, if one is
        return np.zeros(part.shape[1], dtype=np.int64)
    return np.isnan(part).sum(0).astype(np.int64)
