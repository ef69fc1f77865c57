"""Tables in files: numbers to cluster come in, the same rows with their clusters go out.

Every cell is read as text, so that what is written back is what stood there.
"""

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

MISSING = ("", "na", "n/a", "nan", "null", "none", "?")  # in any case
BOOLEANS = {"true": 1.0, "false": 0.0}  # in any case
ADDED = ("cluster", "confidence")


class SourceError(ValueError):
    """A file that cannot be read as a table of finite numbers."""


class LeftOut(NamedTuple):
    """A column that is not used, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Table:
    """The columns of numbers of a file: values (n, d) float64, names of its d columns."""

    names: tuple[str, ...]
    values: NDArray[np.float64]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def n_rows(self) -> int:
        """The number of data rows, without the header."""
        return len(self.values)


def read_table(path: Path | str) -> Table:
    """Read the columns of numbers of a CSV file; tab-separated if it ends in .tsv or .tab.

    True and false, in any case, count as one and zero, as they do for the estimators. A column with
    any other text is left out, and so is one without a single value, and the nameless row numbers
    that data frames write. A missing or infinite value in a column of numbers is refused: no row is
    dropped and nothing is filled in.
    """
    path = Path(path)
    used: dict[str, NDArray[np.float64]] = {}
    left_out = []
    for column in _read_text(path).get_columns():
        read = _read_column(column)
        if isinstance(read, LeftOut):
            left_out.append(read)
        else:
            used[column.name] = read
    if not used:
        reasons = ", ".join(f"{name!r}: {reason}" for name, reason in left_out)
        raise SourceError(f"{path} has no column of numbers ({reasons})")
    values = np.column_stack(list(used.values()))
    _refuse_holes(path, values, list(used))
    return Table(tuple(used), values, tuple(left_out))


def write_labelled(
    source: Path | str,
    target: Path | str,
    labels: NDArray[np.intp],
    confidence: NDArray[np.float64],
) -> None:
    """Write the rows of source to target with their cluster and confidence, (n,) each."""
    frame = _read_text(Path(source))
    columns = [_polars().Series(ADDED[0], labels), _polars().Series(ADDED[1], confidence)]
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    frame.with_columns(columns).write_csv(target, separator=_separator(target), float_precision=6)


def refuse_labelled(source: Path | str, table: Table) -> None:
    """Raise where a column would be overwritten by those that `write_labelled` adds."""
    there = {*table.names, *(name for name, _ in table.left_out)}
    for name in ADDED:
        if name in there:
            raise SourceError(f"{source} already has a column {name!r}; rename it first")


def _read_text(path: Path) -> "pl.DataFrame":
    """All cells as text, None where there is nothing."""
    polars = _polars()
    if path.is_dir():
        raise SourceError(f"{path} is a folder, not a file")
    if not path.is_file():
        raise SourceError(f"no file {path}")
    try:
        frame = polars.read_csv(path, separator=_separator(path), infer_schema=False, glob=False)
    except polars.exceptions.NoDataError:
        raise SourceError(f"{path} is empty") from None
    except polars.exceptions.PolarsError as error:
        raise SourceError(
            f"{path} cannot be read as a table: {str(error).splitlines()[0]}"
        ) from error
    filled = frame.select(polars.any_horizontal(polars.all().is_not_null())).to_series()
    frame = frame[
        : (filled.arg_true().max() or 0) + 1 if filled.any() else 0
    ]  # blank lines at the end
    if not len(frame):
        raise SourceError(f"{path} has a header but no rows")
    if all(_is_number(name) for name in frame.columns):
        raise SourceError(f"{path} starts with numbers; its first row must name the columns")
    return frame


def _read_column(column: "pl.Series") -> NDArray[np.float64] | LeftOut:
    """The numbers of a column of text, NaN where one is missing, or why it has to be left out."""
    polars = _polars()
    text = column.str.strip_chars().str.to_lowercase().fill_null("")
    missing = text.is_in(MISSING)
    if missing.all():
        return LeftOut(column.name, "no values")
    numbers = text.cast(polars.Float64, strict=False)
    truths = text.replace_strict(BOOLEANS, default=None, return_dtype=polars.Float64)
    numbers = numbers.fill_null(truths)
    wrong = (numbers.is_null() & ~missing).arg_true()
    if len(wrong):
        row = int(wrong[0])
        return LeftOut(column.name, f"text, {_short(column[row])} in row {row + 1}")
    values: NDArray[np.float64] = numbers.fill_null(float("nan")).to_numpy()
    if not column.name and (np.diff(values) == 1).all():
        return LeftOut(column.name, "row numbers without a name")
    return values


def _refuse_holes(path: Path, values: NDArray[np.float64], names: list[str]) -> None:
    wrong = ~np.isfinite(values)
    if not wrong.any():
        return
    row, column = np.unravel_index(np.argmax(wrong), wrong.shape)
    kind = "no value" if np.isnan(values[row, column]) else "an infinite value"
    others = int(wrong.sum()) - 1
    more = f"; {others} more like it" if others else ""
    raise SourceError(
        f"{path} has {kind} in row {row + 1}, counted without the header,"
        f" column {names[column]!r}{more}"
    )


def _separator(path: Path) -> str:
    return "\t" if path.suffix.lower() in (".tsv", ".tab") else ","


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _short(text: str, width: int = 24) -> str:
    return repr(text if len(text) <= width else text[: width - 3] + "...")


def _polars() -> ModuleType:
    try:
        import polars
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "reading tables needs polars: pip install 'coterie[io]'", name="polars"
        ) from error
    return polars
