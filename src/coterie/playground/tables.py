"""Uploaded tables: from text to points."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from coterie.data.tables.columns import Choice
from coterie.data.tables.delimited import Delimited
from coterie.data.tables.gaps import filled_notes
from coterie.data.tables.survey import read_rows, read_table
from coterie.data.tables.table import LeftOut, SourceError

Scale = Literal["whole", "columns", "none"]
SCALES: tuple[Scale, ...] = get_args(Scale)
REACH = 5.0  # largest distance of scaled points from the centre of the canvas
NAME = "the CSV"
UNKNOWN = ("", "?", "na", "nan")
NOT_CHOSEN = "not chosen"


class Reading(NamedTuple):
    """How a table is read: the column of the truth, the scale, the columns to cluster by.

    Without columns all numeric ones are.
    """

    truth: str = ""
    scale: Scale = "none"
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class TablePoints:
    """The points (n, d) of a table, their columns, and the truth (n,) if a column was named.

    n_rows: rows of the file, of which the points may be a sample; notes: which missing values were
    filled.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    points: NDArray[np.float64]
    truth: NDArray[np.intp] | None
    n_rows: int
    notes: tuple[str, ...] = ()


def read_points(
    text: str,
    *,
    truth: str = "",
    scale: Scale = "none",
    columns: Sequence[str] = (),
    max_rows: int | None = None,
) -> TablePoints:
    """The given or all numeric columns of delimited text, except the one with the true clusters.

    Separator, decimal sign and header are found in the text. Of a table with more than max_rows
    rows, the points are a sample of so many.
    """
    with tempfile.TemporaryDirectory(prefix="coterie-") as folder:
        path = Path(folder) / "table.csv"
        path.write_text(text, encoding="utf-8", newline="")
        source = Delimited(path, NAME)
        if truth and truth not in source.columns:
            raise SourceError(f"{NAME} has no column {truth!r}")
        chosen = [name for name in columns if name != truth]
        choice = Choice(columns=chosen, exclude=[truth] if truth else [])
        table = read_table(source, choice, max_rows=max_rows)
        cells = read_rows(source, [truth], table.rows)[truth] if truth else None
    return TablePoints(
        source.columns,
        table.names,
        tuple(_in_words(column, bool(chosen)) for column in table.left_out),
        scaled(table.values, scale),
        None if cells is None else true_clusters(cells),
        table.n_rows,
        (*source.remarks, *filled_notes(table)),
    )


def scaled(values: NDArray[np.float64], scale: Scale) -> NDArray[np.float64]:
    """Points (n, d) centred and scaled to the canvas: as a whole, per column, or not at all.

    The canvas extends a little beyond REACH; networks trained at one scale expect clusters as wide
    as the brush draws them there.
    """
    if scale == "none":
        return values
    centred = values - values.mean(0)
    spread = centred.std(0)
    if scale == "columns":
        centred = centred / np.where(spread > 0, spread, 1.0)
    farthest = np.abs(centred).max()
    return centred * (REACH / farthest) if farthest > 0 else centred


def true_clusters(cells: list[str]) -> NDArray[np.intp]:
    """Numbers for the distinct texts (n,), -1 if unknown."""
    text = np.array([cell.strip() for cell in cells])
    _, numbers = np.unique(text, return_inverse=True)
    unknown = np.isin(np.char.lower(text), UNKNOWN)
    return np.where(unknown, -1, numbers)


def width_of(text: str) -> int:
    """The number of columns that the first line of a table promises."""
    return len(_first_line(text)[0])


def _in_words(column: LeftOut, are_chosen: bool) -> LeftOut:
    """The reason without options of the command line."""
    if are_chosen and column.reason.startswith("not among"):
        return LeftOut(column.name, NOT_CHOSEN)
    return column


def _first_line(text: str) -> tuple[list[str], str]:
    """The cells of the first line, and their separator."""
    line = text.lstrip("\ufeff").partition("\n")[0].strip("\r")
    separator = max(",;\t", key=line.count)
    return [cell.strip() for cell in line.split(separator)] if line else [], separator
