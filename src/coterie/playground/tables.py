"""Uploaded tables: from text to points and their positions in the plane."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from coterie.data.tables.columns import Choice
from coterie.data.tables.delimited import Delimited
from coterie.data.tables.gaps import filled_notes
from coterie.data.tables.survey import read_rows, read_table
from coterie.data.tables.table import LeftOut, SourceError
from coterie.frames.plain import fit_plain

Scale = Literal["whole", "columns", "none"]
SCALES: tuple[Scale, ...] = get_args(Scale)
REACH = 5.0  # largest distance of scaled points from the centre of the canvas
NAME = "the CSV"
UNKNOWN = ("", "?", "na", "nan")


@dataclass(frozen=True)
class TablePoints:
    """The points (n, d) of a table, their columns, and the truth (n,) if a column was named.

    notes: which missing values were filled.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    points: NDArray[np.float64]
    truth: NDArray[np.intp] | None
    notes: tuple[str, ...] = ()


def read_points(text: str, *, truth: str = "", scale: Scale = "none") -> TablePoints:
    """The numeric columns of delimited text, except the one with the true clusters.

    Without a header, that is, if the first line has only numbers, columns are named x1, x2, ....
    """
    first, separator = _first_line(text)
    if first and all(map(_is_number, first)):
        names = separator.join(f"x{number + 1}" for number in range(len(first)))
        text = f"{names}\n{text}"
    with tempfile.TemporaryDirectory(prefix="coterie-") as folder:
        path = Path(folder) / "table.csv"
        path.write_text(text, encoding="utf-8", newline="")
        source = Delimited(path, NAME, separator=separator)
        if truth and truth not in source.columns:
            raise SourceError(f"{NAME} has no column {truth!r}")
        table = read_table(source, Choice(exclude=[truth] if truth else []))
        cells = read_rows(source, [truth], table.rows)[truth] if truth else None
    return TablePoints(
        source.columns,
        table.names,
        table.left_out,
        scaled(table.values, scale),
        None if cells is None else true_clusters(cells),
        filled_notes(table),
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


def plane(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (n, d) in the plane (n, 2): principal components for more than two columns.

    A single column gets random heights, so that equal values do not overlap.
    """
    n_points, n_columns = points.shape
    if n_columns == 1:
        width = max(float(np.ptp(points)), 1e-9) / 10
        height = np.random.default_rng(0).uniform(-width, width, (n_points, 1))
        return np.hstack([points, height])
    return fit_plain(points, 2)(points).astype(np.float64)


def true_clusters(cells: list[str]) -> NDArray[np.intp]:
    """Numbers for the distinct texts (n,), -1 if unknown."""
    text = np.array([cell.strip() for cell in cells])
    _, numbers = np.unique(text, return_inverse=True)
    unknown = np.isin(np.char.lower(text), UNKNOWN)
    return np.where(unknown, -1, numbers)


def _first_line(text: str) -> tuple[list[str], str]:
    """The cells of the first line, and their separator."""
    line = text.lstrip("\ufeff").partition("\n")[0].strip("\r")
    separator = max(",;\t", key=line.count)
    return [cell.strip() for cell in line.split(separator)] if line else [], separator


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
