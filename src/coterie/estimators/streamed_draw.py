"""Rows drawn by value from a file that is read batch by batch.

They are those that an estimator draws from the same table in memory, and an engine from its
partitions: see `drawing.py`.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from coterie.estimators.drawing import Located, Survey, draw, locate_hashes
from coterie.inference.hashed_draw import CAPACITY, merge_sketches, salted, sketch_rows
from coterie.inference.row_hashes import Hashes, row_hashes

Numbers = NDArray[np.float64]
ENOUGH = 262_144  # rows that are surveyed at once


class HashedSample:
    """At most capacity rows of a stream, all of them where there are no more.

    again: reads the same batches once more, where many rows are equal and must be counted.
    """

    def __init__(
        self, capacity: int, width: int, again: Callable[[], Iterator[Numbers]], salt: int = 0
    ) -> None:
        self.seen = 0
        self._capacity, self._again, self._salt = capacity, again, salt
        self._waiting: list[Numbers] = [np.empty((0, width))]
        self._total: Survey | None = None  # its rows have their number in the last column

    def add(self, batch: Numbers) -> None:
        """Process the next rows (m, width)."""
        self._waiting.append(batch)
        self.seen += len(batch)
        n_waiting = sum(map(len, self._waiting))
        if n_waiting > self._capacity and n_waiting >= ENOUGH:
            self._survey()

    def drawn(self) -> tuple[NDArray[np.intp], Numbers]:
        """The rows drawn (m,), in their order, and their values (m, width).

        Of several equal rows that are drawn, the first stands for all.
        """
        if self.seen <= self._capacity:
            return np.arange(self.seen), np.concatenate(self._waiting)
        self._survey()
        assert self._total is not None
        rows = draw(self._total, lambda hashes: [self._located(hashes)], self._capacity).rows
        numbers = rows[:, -1].astype(np.intp)
        order = np.argsort(numbers, kind="stable")
        return numbers[order], np.ascontiguousarray(rows[order, :-1])

    def _survey(self) -> None:
        """Add what waits to the survey of all rows."""
        values = np.concatenate(self._waiting)
        self._waiting = [values[:0].copy()]
        if not len(values):
            return
        numbers = np.arange(self.seen - len(values), self.seen)
        hashes = salted(row_hashes(values), self._salt)
        sketch, first = sketch_rows(hashes, max(self._capacity, CAPACITY))  # as in memory
        rows = np.column_stack([values[first], numbers[first]])
        if self._total is not None:
            sketch, first = merge_sketches([self._total.sketch, sketch])
            rows = np.concatenate([self._total.rows, rows])[first]
        self._total = Survey(sketch, rows, np.zeros(values.shape[1], dtype=np.int64))

    def _located(self, hashes: Hashes) -> Located:
        counts = np.zeros(len(hashes), dtype=np.int64)
        found: dict[int, Numbers] = {}
        start = 0
        for batch in self._again():
            more, rows = locate_hashes(salted(row_hashes(batch), self._salt), hashes)
            counts += more
            for at in np.flatnonzero(more).tolist():
                found.setdefault(at, np.append(batch[rows[at]], start + rows[at]))
            start += len(batch)
        places = np.array(sorted(found), dtype=np.intp)
        return Located(counts, places, np.array([found[each] for each in places.tolist()]))
