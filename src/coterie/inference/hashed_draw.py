"""Rows drawn by a hash of their values.

The sample of a large table does not depend on the order of its rows, nor on how they are divided
among partitions: rows are ordered by a hash of their values and a salt, and a sample is the
beginning of that order.

Equal rows are told apart by a number, so that a value that a third of the rows have makes up a
third of the sample. Their number must be known exactly. It is, for the `capacity` distinct values
that come first in the order, and for frequent values; a `Sketch` of each partition counts both, and
sketches can be merged. Where there are more distinct values, the sample is drawn from these.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.inference.row_hashes import STEP, Hashes, mixed, row_hashes

Counts = NDArray[np.int64]
Indices = NDArray[np.intp]

# A value is frequent that more than one row in so many has: it is counted wherever it stands in
# the order. A sample of 100,000 rows has one or two rows of a value that just misses this.
RARITY = 65_536
MAX_ROWS = 100_000  # of longer tables, the frame and the clusters are found on so many
CAPACITY = MAX_ROWS  # distinct values whose rows are counted
CHUNK = 262_144
ENOUGH = 4.0  # times the values of a sample: more are not kept where the number of rows is known
ANOTHER = 0x5851_F42D_4C95_7F2D  # times 0, 1, 2, ... gives salts whose bits differ
MAX_COPIES = 4_194_304  # of the counted rows; more are scaled down, to save memory


class Counted(NamedTuple):
    """Distinct hashes (m,) in the order in which rows are drawn, and how many rows have each."""

    hashes: Hashes
    counts: Counts


class Copies(NamedTuple):
    """Drawn rows in order: which of the distinct values (n,), and which of its equal rows (n,)."""

    value: Indices
    copy: Indices


@dataclass(frozen=True)
class Sketch:
    """What partitions tell of their rows.

    first: the values that come first, at most capacity of them and only of the first share of all
    possible ones; others: candidates for frequent values among the rest, each counted too low by at
    most slack (Misra, Gries 1982).
    """

    n_rows: int
    capacity: int
    first: Counted
    others: Counted
    slack: int
    share: float = 1.0

    @property
    def is_short(self) -> bool:
        """Whether a larger share could have more of the first values."""
        return self.share < 1 and len(self.first.counts) < self.capacity and not self.is_complete

    @property
    def is_complete(self) -> bool:
        """Whether all values are among the first."""
        return self.n_rows == int(self.first.counts.sum())

    def candidates(self) -> Hashes:
        """The values, not among the first, that may be frequent."""
        return self.others.hashes[(self.others.counts + self.slack) * RARITY > self.n_rows]


def draw_by_value(
    table: NDArray, size: int, n_contexts: int = 1, *, salt: int = 0
) -> list[Indices]:
    """Disjoint samples of at most size rows of a table (n, d), each in the order of the table.

    Which of several equal rows are drawn does not matter.
    """
    if len(table) <= size:
        return [np.arange(len(table))]
    return draw_rows(salted(row_hashes(table), salt), size, n_contexts)


def draw_contexts(table: NDArray, size: int, n_contexts: int, *, salt: int = 0) -> list[Indices]:
    """Independent samples, which may overlap; one, the whole table, if that is no larger."""
    if len(table) <= size:
        return [np.arange(len(table))]
    hashes = row_hashes(table)
    return [
        draw_rows(salted(hashes, salt ^ (number * ANOTHER % 2**64)), size)[0]
        for number in range(n_contexts)
    ]


def draw_rows(hashes: Hashes, size: int, n_contexts: int = 1) -> list[Indices]:
    """The same, given the hashes (n,) of more than size rows."""
    wanted = min(n_contexts, len(hashes) // size) * size
    capacity = max(wanted, CAPACITY)
    sketch = _sketch_in_chunks(hashes, capacity, share_of(len(hashes), capacity))
    if sketch.is_short:
        sketch = _sketch_in_chunks(hashes, capacity)
    candidates = np.sort(sketch.candidates())
    counts = np.zeros(len(candidates), dtype=np.int64)
    for _, which in _matches(hashes, candidates):
        counts += np.bincount(which, minlength=len(candidates))
    often = counts * RARITY > len(hashes)
    frequent = in_order(Counted(candidates[often], counts[often]))
    drawn = draw_copies(sketch, frequent, wanted)
    values = np.concatenate([sketch.first.hashes, frequent.hashes])
    rows = _copies_of(hashes, values[drawn.value], drawn.copy)
    return [np.sort(rows[at : at + size]) for at in range(0, len(rows), size)]


def in_hashed_order(table: NDArray) -> Indices:
    """The rows of a table (n, d) in an order that depends on their values alone."""
    return np.argsort(row_hashes(table), kind="stable")


def salt_of(random_state: np.random.RandomState | None) -> int:
    """What a seed adds to the hashes of rows; the next number of its generator."""
    return 0 if random_state is None else int(random_state.randint(1, 2**63 - 1))


def salted(hashes: Hashes, salt: int) -> Hashes:
    """Hashes (n,) that give another sample for each salt."""
    return hashes ^ np.uint64(salt) if salt else hashes


def in_order(values: Counted) -> Counted:
    """Distinct values in the order in which rows are drawn."""
    order = np.argsort(_keys(values.hashes, 0), kind="stable")
    return Counted(values.hashes[order], values.counts[order])


class Sketched(NamedTuple):
    """The sketch of some rows, and one row (m,) for each of its first values."""

    sketch: Sketch
    rows: Indices


def sketch_rows(hashes: Hashes, capacity: int, share: float = 1.0) -> Sketched:
    """The sketch of rows with these hashes (n,); only the first share of values may be first."""
    keys = _keys(hashes, 0)
    if len(keys) > capacity + RARITY:
        ordered = np.sort(keys)
        if (ordered[1:] != ordered[:-1]).all():  # as for measured numbers
            return _sketch_distinct(hashes, keys, ordered, capacity, share)
    order, starts = _runs(keys)
    counts = np.diff(starts, append=len(order))
    every = Counted(hashes[order[starts]], counts)
    n_first = min(capacity, _n_within(keys[order[starts]], share))
    others, slack = _frequent(Counted(every.hashes[n_first:], counts[n_first:]))
    sketch = Sketch(len(hashes), capacity, _beginning(every, n_first), others, slack, share)
    return Sketched(sketch, order[starts[:n_first]])


def share_of(n_rows: int, size: int) -> float:
    """The share of values that is enough for a sample of size rows of so many.

    It is enough unless most rows are equal to others: then `Sketch.is_short`.
    """
    return min(1.0, ENOUGH * size / max(n_rows, 1))


def merge_sketches(sketches: list[Sketch]) -> Sketched:
    """The sketch of all rows; rows: where its first values stand in all first ones, in a row."""
    capacity = sketches[0].capacity
    every, places = _together([each.first for each in sketches])
    rest = Counted(every.hashes[capacity:], every.counts[capacity:])
    others, more = _frequent(_together([rest, *(each.others for each in sketches)]).values)
    sketch = Sketch(
        sum(each.n_rows for each in sketches),
        capacity,
        _beginning(every, capacity),
        others,
        more + sum(each.slack for each in sketches),
        min(each.share for each in sketches),
    )
    return Sketched(sketch, places[:capacity])


def draw_copies(sketch: Sketch, frequent: Counted, size: int) -> Copies:
    """Draw size rows from the first values of a sketch and the frequent ones beyond them.

    frequent: exact counts; they are numbered after the first values.
    """
    if not len(frequent.hashes) and sketch.first.counts.max() == 1:  # as for measured numbers
        value = np.arange(min(size, len(sketch.first.counts)))
        return Copies(value, np.zeros_like(value))
    hashes = np.concatenate([sketch.first.hashes, frequent.hashes])
    counts = np.concatenate([sketch.first.counts, frequent.counts]).astype(np.float64)
    # The first are a share of all values. Frequent ones, all of which are here, have that share of
    # their rows among the copies.
    share, common = 1.0, np.zeros(len(hashes), dtype=bool)
    if not sketch.is_complete:
        share = (float(_keys(sketch.first.hashes[-1:], 0)[0]) + 1.0) / 2.0**64
        common = counts * RARITY > sketch.n_rows
    counts[common] *= share
    most = max(MAX_COPIES, 4 * size)
    if counts.sum() > most:
        counts *= most / counts.sum()
    # Rounded up or down by chance, which is the hash's.
    chance = (mixed(hashes) >> np.uint64(11)).astype(np.float64) / 2.0**53
    copies = np.floor(counts + chance).astype(np.intp)
    value = np.repeat(np.arange(len(hashes)), copies)
    copy = np.arange(len(value)) - np.repeat(np.cumsum(copies) - copies, copies)
    keys = _keys(hashes[value], copy + common[value])
    if share < 1:
        # The keys of first values are below the share already, those of further copies are not.
        further = (copy > 0) | common[value]
        keys[further] = (keys[further] * share).astype(np.uint64)
    size = min(size, len(keys))
    drawn = np.argpartition(keys, size - 1)[:size]
    drawn = drawn[np.argsort(keys[drawn], kind="stable")]
    return Copies(value[drawn], copy[drawn])


def _sketch_in_chunks(hashes: Hashes, capacity: int, share: float = 1.0) -> Sketch:
    """The sketch of rows with these hashes (n,), chunk by chunk to save memory."""
    sketch = sketch_rows(hashes[:CHUNK], capacity, share).sketch
    for start in range(CHUNK, len(hashes), CHUNK):
        more = sketch_rows(hashes[start : start + CHUNK], capacity, share).sketch
        sketch = merge_sketches([sketch, more]).sketch
    return sketch


def _sketch_distinct(
    hashes: Hashes, keys: Hashes, ordered: Hashes, capacity: int, share: float
) -> Sketched:
    """The sketch of more than capacity + RARITY distinct rows: only the first are put in order."""
    n_first = min(capacity, _n_within(ordered, share))
    rows = np.flatnonzero(keys < ordered[n_first])
    rows = rows[np.argsort(keys[rows])]
    first = Counted(hashes[rows], np.ones(n_first, dtype=np.int64))
    nothing = Counted(hashes[:0].copy(), np.empty(0, dtype=np.int64))
    return Sketched(Sketch(len(hashes), capacity, first, nothing, 1, share), rows)


def _n_within(ordered: Hashes, share: float) -> int:
    """How many of the ordered keys (n,) are among the first share of all possible ones."""
    if share >= 1:
        return len(ordered)
    return int(np.searchsorted(ordered, np.uint64(share * 2.0**64)))


def _matches(hashes: Hashes, wanted: Hashes) -> Iterator[tuple[Indices, Indices]]:
    """Rows (m,) whose hash is among the wanted ones, which are sorted, and which of them (m,)."""
    if not len(wanted):
        return
    for start in range(0, len(hashes), CHUNK):
        part = hashes[start : start + CHUNK]
        which = np.searchsorted(wanted, part)
        which[which == len(wanted)] = 0
        rows = np.flatnonzero(wanted[which] == part)
        yield start + rows, which[rows]


def _copies_of(hashes: Hashes, values: Hashes, copy: Indices) -> Indices:
    """The rows of a table that are these copies (m,) of values (m,)."""
    wanted, value = np.unique(values, return_inverse=True)
    matches = list(_matches(hashes, wanted))
    rows = np.concatenate([rows for rows, _ in matches])
    which = np.concatenate([which for _, which in matches])
    order = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[order], np.arange(len(wanted)))
    return rows[order[starts[value] + copy]]


class _Runs(NamedTuple):
    """Rows (n,) in the order of drawing, and where each distinct value starts there (m,)."""

    order: Indices
    starts: Indices


def _runs(keys: Hashes) -> _Runs:
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    new = np.ones(len(order), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return _Runs(order, np.flatnonzero(new))


class _Joined(NamedTuple):
    """Distinct values in order, with total counts, and where each first stood (m,)."""

    values: Counted
    places: Indices


def _together(parts: list[Counted]) -> _Joined:
    hashes = np.concatenate([part.hashes for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    if not len(hashes):
        return _Joined(Counted(hashes, counts), np.empty(0, dtype=np.intp))
    order, starts = _runs(_keys(hashes, 0))
    totals = np.add.reduceat(counts[order], starts)
    places = order[starts]
    return _Joined(Counted(hashes[places], totals), places)


def _beginning(values: Counted, size: int) -> Counted:
    """The first values, copied so that the others are released."""
    return Counted(values.hashes[:size].copy(), values.counts[:size].copy())


def _frequent(values: Counted) -> tuple[Counted, int]:
    """The RARITY most frequent values, counts reduced, and by how much they were reduced."""
    slack = 0
    if len(values.counts) > RARITY:
        slack = int(np.partition(values.counts, -RARITY - 1)[-RARITY - 1])
    kept = values.counts > slack
    return Counted(values.hashes[kept], values.counts[kept] - slack), slack


def _keys(hashes: Hashes, copy: Indices | int) -> Hashes:
    """What orders rows: a hash of the value and of which of its equal rows it is."""
    return mixed(hashes ^ (STEP * (np.asarray(copy, dtype=np.uint64) + np.uint64(1))))
