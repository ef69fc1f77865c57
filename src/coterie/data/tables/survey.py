"""One pass over a file: its columns as numbers, and a sample of the rows of a long file."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.data.tables.columns import (
    Choice,
    Chosen,
    Column,
    columns_of,
    form_notes,
    read_batch,
    refuse_infinite,
    refuse_no_numbers,
)
from coterie.data.tables.gaps import filled_notes, fit_fillings
from coterie.data.tables.table import LeftOut, Source, SourceError, Table
from coterie.frames.column_parts import NO_CATEGORY, Numbers, Remarks
from coterie.frames.column_roles import IDENTIFIES
from coterie.frames.encoded_table import TableEncoding
from coterie.frames.table_columns import FrameColumn
from coterie.frames.table_encoding import MANY, ColumnChoice, NoUsableColumnError, fit_columns
from coterie.frames.written_numbers import READ_AS_NUMBERS, numbers_of

# Clusters are found on at most 10,000 of these, so more of them would change nothing.
MAX_ROWS = 100_000
MAX_CELLS = 50_000_000  # 400 MB of numbers
TAKEN_FOR_IDS = "columns that identify the rows are left out, unless --columns names them"

Progress = Callable[[float], None]  # receives the share that is done


def read_table(
    source: Source,
    choice: Choice | None = None,
    *,
    max_rows: int | None = None,
    seed: int = 0,
    progress: Progress = lambda share: None,
    sampling: "Sampling | None" = None,
) -> Table:
    """Read the columns as numbers, and all rows or a sample of max_rows of them.

    sampling: how rows are drawn; by default uniformly, by their position and the seed.

    What becomes of a column is decided as for data frames, see `frames/table_encoding.py`: booleans
    are one and zero, missing values are filled with the median of the rows in memory, identifiers
    and constants are dropped. Text becomes categories or, unless the choice says so, is dropped.
    Infinite values in a numeric column are an error.
    """
    chosen = (choice or Choice()).of(source)
    encode = frozenset(chosen.tried if chosen.encode else chosen.categorical)
    text: set[str] = set()
    while True:
        columns = columns_of(source, chosen.tried, encode=encode, as_text=text)
        capacity = max_rows or max(1, min(MAX_ROWS, MAX_CELLS // len(columns)))
        if sampling is None:
            sample: Sample = Reservoir(capacity, len(columns), np.random.default_rng(seed))
        else:
            again = partial(_read_again, source, chosen, encode, frozenset(text))
            sample = sampling(capacity, len(columns), again)
        for frame, _, share in source.batches():
            sample.add(read_batch(columns, frame, sample.seen))
            progress(share)
        # Columns that began as numbers and turned out to be text: read once more, as text.
        if not (late := {column.name for column in columns if column.became_text}):
            return _settled(source, chosen, columns, sample)
        text |= late


def _read_again(
    source: Source, chosen: Chosen, encode: frozenset[str], text: frozenset[str]
) -> Iterator[NDArray[np.float64]]:
    """The numbers (m, D) of each batch, as in the first pass."""
    columns, start = columns_of(source, chosen.tried, encode=encode, as_text=set(text)), 0
    for frame, _, _ in source.batches():
        yield read_batch(columns, frame, start)
        start += len(frame)


class Sample(Protocol):
    """Rows that are drawn from a stream; seen: how many have come by."""

    seen: int

    def add(self, batch: NDArray[np.float64], /) -> None:
        """Process the next rows (m, width)."""

    def drawn(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The sampled rows (m,), in their order, and their values (m, width)."""


# Makes a sample of at most so many rows of a width, given how to read all batches once more.
Sampling = Callable[[int, int, Callable[[], Iterator[NDArray[np.float64]]]], Sample]


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


def _settled(source: Source, chosen: Chosen, columns: list[Column], sample: Sample) -> Table:
    """The table after the pass: unusable columns dropped, missing values filled."""
    rows, values = sample.drawn()
    unusable = _unusable(columns, values)
    for left in unusable:
        if chosen.insisted or left.name in chosen.categorical:
            raise SourceError(f"{source.name}: column {left.name!r} has {left.reason}")
    dropped = dict(unusable)
    kept = [at for at, column in enumerate(columns) if column.name not in dropped]
    readable = [columns[at] for at in kept]
    refuse_infinite(source, readable)
    framed = [columns[at].framed(values[:, at]) for at in kept]
    encoding, unused = _fit_encoding(source, chosen, readable, framed, unusable)
    left_out = _in_order(source, chosen.reasons, [*unusable, *unused])
    if not encoding.names:
        refuse_no_numbers(source, left_out)
    encoded = frozenset(encoding.columns)
    used = [column for column in readable if column.name in encoded]
    places = [at for at in kept if columns[at].name in encoded]
    filled = fit_fillings(used, encoding)
    values = _encoded(values, places, used, encoding)
    encoding = replace(encoding, left_out=left_out)
    table = Table(
        encoding.names, values, sample.seen, rows, encoding, left_out=left_out, filled=filled
    )
    notes = (*getattr(source, "remarks", ()), *form_notes(used), *_notes(table, used, unused))
    return replace(table, notes=notes)


def _fit_encoding(
    source: Source,
    chosen: Chosen,
    columns: Sequence[Column],
    framed: Sequence[FrameColumn],
    unusable: Sequence[LeftOut],
) -> tuple[TableEncoding, list[LeftOut]]:
    """The encoding of the columns that are clustered by, and the others with the reasons."""
    try:
        encoding = fit_columns(
            framed,
            ColumnChoice(categorical=chosen.categorical),
            as_given=getattr(source, "is_array", False),
            asked=chosen.insisted,
        )
    except NoUsableColumnError as error:
        nothing = TableEncoding((), (), (), np.empty(0, dtype=np.intp))
        return nothing, _with_text(error.left_out, columns)
    except ValueError as error:
        raise SourceError(f"{source.name}: {error}") from error
    return encoding.without_dropped(), _with_text(encoding.left_out, columns)


def _with_text(left_out: Sequence[LeftOut], columns: Sequence[Column]) -> list[LeftOut]:
    """The reasons, with the first text and its place where a column has too many of them."""
    text = {column.name: column.text for column in columns if column.text is not None}
    return [
        LeftOut(name, f"{text[name]}, {reason}") if name in text and MANY in reason else left
        for left in left_out
        for name, reason in [left]
    ]


def _encoded(
    values: NDArray[np.float64],
    places: list[int],
    used: Sequence[Column],
    encoding: TableEncoding,
) -> NDArray[np.float64]:
    """The columns at these places of (m, D) as numbers: (m, d)."""
    if all(isinstance(part, Numbers) for part in encoding.parts) and not any(
        column.text is not None for column in used
    ):
        if len(places) < values.shape[1]:
            values = np.ascontiguousarray(values[:, places])
        for at, part in enumerate(encoding.parts):  # in place, to save memory
            if isinstance(part, Numbers) and used[at].gaps:
                values[:, at] = part.fill(values[:, at])
        return values
    columns = (column.framed(values[:, at]) for column, at in zip(used, places, strict=True))
    return np.asarray(encoding.encode(columns).table, dtype=np.float64)


def _notes(table: Table, used: Sequence[Column], unused: Sequence[LeftOut]) -> tuple[str, ...]:
    remarks, categories = Remarks(), table.encoding.categories
    for column in used:
        levels = categories.get(column.name)
        if levels is not None:
            remarks.add("columns encoded as categories", column.name, f"{len(levels)} of them")
            if column.gaps:
                remarks.count(NO_CATEGORY, column.name, column.gaps)
        elif column.text is not None and (written := numbers_of(column.framed(np.empty(0)))):
            remarks.add(READ_AS_NUMBERS, column.name, ", ".join(written.kinds))
    for name, reason in unused:
        if reason.startswith(IDENTIFIES):
            remarks.add(TAKEN_FOR_IDS, name, reason.removeprefix(IDENTIFIES).lstrip(":, "))
    return (*remarks.sentences(), *filled_notes(table))


def _unusable(columns: list[Column], values: NDArray[np.float64]) -> list[LeftOut]:
    """The unusable columns, given their statistics and the sampled values (m, d)."""
    not_drawn = np.all(np.isnan(values), axis=0)
    verdicts = [
        column.left_out() or (LeftOut(column.name, "no values in the sample") if none else None)
        for column, none in zip(columns, not_drawn, strict=True)
    ]
    return [left for left in verdicts if left is not None]
