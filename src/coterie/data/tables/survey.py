"""One pass over a file: its numeric columns, and a sample of the rows of a long file."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from coterie.data.tables.columns import Choice, Chosen, Column, refuse_infinite, refuse_no_numbers
from coterie.data.tables.gaps import fill_gaps, filled_notes, fit_fillings
from coterie.data.tables.table import LeftOut, Source, SourceError, Table

# Clusters are found on at most 10,000 rows, so a larger sample would change nothing.
MAX_ROWS = 100_000
MAX_CELLS = 50_000_000  # 400 MB of numbers

Progress = Callable[[float], None]  # receives the share that is done


def read_table(
    source: Source,
    choice: Choice | None = None,
    *,
    max_rows: int | None = None,
    seed: int = 0,
    progress: Progress = lambda share: None,
) -> Table:
    """Read the numeric columns, and all rows or a uniform sample of max_rows of them.

    Booleans count as one and zero, as for the estimators. Columns with other text, columns without
    values, and unnamed row numbers are dropped. Missing values are filled with the median of the
    rows in memory, see `gaps.py`; infinite values in a numeric column are an error.
    """
    chosen = (choice or Choice()).of(source)
    columns = [Column(name, text_is_data=source.text_is_data) for name in chosen.tried]
    capacity = max_rows or max(1, min(MAX_ROWS, MAX_CELLS // len(columns)))
    reservoir = Reservoir(capacity, len(columns), np.random.default_rng(seed))
    for frame, _, share in source.batches():
        start = reservoir.seen
        reservoir.add(
            np.column_stack([column.read(frame[column.name], start) for column in columns])
        )
        progress(share)
    return _settled(source, chosen, columns, reservoir)


class Reservoir:
    """A uniform sample from a stream of rows (Vitter 1985, algorithm R)."""

    def __init__(self, capacity: int, width: int, generator: np.random.Generator) -> None:
        self.seen = 0
        self._capacity, self._generator = capacity, generator
        self._whole: list[NDArray[np.float64]] = [np.empty((0, width))]
        self._values = np.empty((0, width))
        self._rows = np.empty(0, dtype=np.intp)

    def add(self, batch: NDArray[np.float64]) -> None:
        """Process the next rows (m, width)."""
        room = max(0, self._capacity - self.seen)
        if room:
            self._whole.append(batch[:room])
        if len(batch) > room:
            self._settle()
            self._replace(batch[room:], self.seen + room)
        self.seen += len(batch)

    def drawn(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The sampled rows (m,), in their order, and their values (m, width)."""
        self._settle()
        order = np.argsort(self._rows)
        if (order == np.arange(len(order))).all():
            return self._rows, self._values
        return self._rows[order], self._values[order]

    def _settle(self) -> None:
        if self._whole:
            self._values = np.concatenate([self._values, *self._whole])
            self._rows = np.arange(len(self._values))
            self._whole = []

    def _replace(self, batch: NDArray[np.float64], start: int) -> None:
        numbers = start + np.arange(len(batch))
        places = self._generator.integers(0, numbers + 1)
        chosen = places < self._capacity
        # If a place is drawn twice the later row stays, as in a row-by-row pass.
        self._values[places[chosen]] = batch[chosen]
        self._rows[places[chosen]] = numbers[chosen]


def read_rows(
    source: Source, columns: Sequence[str], rows: NDArray[np.intp]
) -> dict[str, list[str]]:
    """Cells of a file as text: the given columns of the given rows, in their order."""
    found: dict[str, list[str]] = {name: [] for name in columns}
    order = np.argsort(rows, kind="stable")
    ascending = rows[order]
    start = 0
    for frame, _, _ in source.batches():
        inside = slice(*np.searchsorted(ascending, [start, start + len(frame)]))
        for name in columns:
            cells = frame[name][ascending[inside] - start].to_list()
            found[name] += ["" if cell is None else str(cell) for cell in cells]
        start += len(frame)
        if inside.stop == len(ascending):
            break
    back = np.argsort(order)
    return {name: [cells[place] for place in back] for name, cells in found.items()}


def _in_order(source: Source, reasons: dict[str, str], found: list[LeftOut]) -> tuple[LeftOut, ...]:
    everything = reasons | dict(found)
    return tuple(LeftOut(name, everything[name]) for name in source.columns if name in everything)


def _settled(source: Source, chosen: Chosen, columns: list[Column], reservoir: Reservoir) -> Table:
    """The table after the pass: unusable columns dropped, missing values filled."""
    rows, values = reservoir.drawn()
    unusable = _unusable(columns, values)
    if chosen.insisted and unusable:
        _refuse_wanted(source, unusable[0])
    left_out = _in_order(source, chosen.reasons, unusable)
    reasons = dict(left_out)
    kept = [at for at, column in enumerate(columns) if column.name not in reasons]
    used = [columns[at] for at in kept]
    if not used:
        refuse_no_numbers(source, left_out)
    refuse_infinite(source, used)
    if len(kept) < len(columns):
        values = np.ascontiguousarray(values[:, kept])
    names = tuple(column.name for column in used)
    filled = fit_fillings(used, values)
    fill_gaps(values, names, filled)
    table = Table(names, values, reservoir.seen, rows, left_out, filled)
    counting = _counting(used, reservoir.seen, chosen.insisted)
    return replace(table, notes=(*filled_notes(table), *counting))


def _unusable(columns: list[Column], values: NDArray[np.float64]) -> list[LeftOut]:
    """The unusable columns, given their statistics and the sampled values (m, d)."""
    not_drawn = np.all(np.isnan(values), axis=0)
    verdicts = [
        column.left_out() or (LeftOut(column.name, "no values in the sample") if none else None)
        for column, none in zip(columns, not_drawn, strict=True)
    ]
    return [left for left in verdicts if left is not None]


def _refuse_wanted(source: Source, left: LeftOut) -> NoReturn:
    hint = "; only numeric columns of files are clustered, data frames may have categories"
    raise SourceError(
        f"{source.name}: column {left.name!r} has {left.reason}{hint if left.is_text else ''}"
    )


def _counting(used: list[Column], n_rows: int, insisted: bool) -> tuple[str, ...]:
    if insisted or n_rows < 3:
        return ()
    return tuple(
        f"column {column.name!r} looks like a row number; if it is, use --id {column.name!r}"
        for column in used
        if column.counts_rows and len(used) > 1
    )
