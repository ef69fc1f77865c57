"""Find a quote that is never closed, which would silently turn many rows into one cell.

A quote opens a cell only at its beginning, and closes it unless another quote follows. The state
at the end of a file tells an unclosed quote; so does text after the closing quote of a cell of
several lines, because that quote was meant to open the next cell.
"""

import numpy as np
from numpy.typing import NDArray

QUOTE, NEWLINE, RETURN = b'"\n\r'
OTHER = ord("x")  # any byte that neither ends a cell nor is a quote


class UnclosedQuote(ValueError):
    """A cell whose quote is not closed; line: where it opens, counted from 1."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}")
        self.line = line


class QuoteScan:
    """Reads a file in blocks of bytes, in any encoding that contains ASCII.

    Between two quotes that stand for one, the state is outside the cell, and `_before` is a quote.
    """

    def __init__(self, separator: bytes) -> None:
        self._ends = np.zeros(256, dtype=bool)
        self._ends[[separator[0], NEWLINE, RETURN]] = True
        self._inside = False
        self._opened = 1  # line of the quote that opened the last cell
        self._lines = 1  # line in which the next block begins
        self._before = NEWLINE  # last byte before the next block
        self._held = b""  # a quote at the end of a block: what follows it decides

    def add(self, block: bytes) -> None:
        """Read the next bytes."""
        block = self._held + block
        self._held = b'"' if block.endswith(b'"') else b""
        self._scan(block[: len(block) - len(self._held)], QUOTE if self._held else NEWLINE)

    def finish(self) -> None:
        """Raise if a quote is still open at the end of the file."""
        held, self._held = self._held, b""
        self._scan(held, NEWLINE)
        if self._inside:
            raise UnclosedQuote(self._opened)

    def _scan(self, block: bytes, after: int) -> None:
        if not block:
            return
        escaping = False
        if QUOTE in block:
            codes = np.frombuffer(block, dtype=np.uint8)
            places = np.flatnonzero(codes == QUOTE)
            if self._alternate(codes, places, after):
                escaping = not self._inside
            else:
                escaping = self._one_by_one(codes, places, after)
            escaping &= block.endswith(b'"') and after == QUOTE
        self._lines += block.count(b"\n")
        self._before = QUOTE if escaping else OTHER if block.endswith(b'"') else block[-1]

    def _alternate(self, block: NDArray[np.uint8], places: NDArray, after: int) -> bool:
        """Whether the quotes open and close cells in turn; if so, they are processed."""
        opening, closing = places[int(self._inside) :: 2], places[int(not self._inside) :: 2]
        before = np.where(opening > 0, block[opening - 1], self._before)
        behind = np.append(block, np.uint8(after))[closing + 1]
        if not (self._ends[before] | (before == QUOTE)).all():
            return False
        if not (self._ends[behind] | (behind == QUOTE)).all():
            return False
        begins = opening[self._ends[before]]
        if len(begins):
            self._opened = self._lines + int((block[: begins[-1]] == NEWLINE).sum())
        self._inside ^= bool(len(places) % 2)
        return True

    def _one_by_one(self, block: NDArray[np.uint8], places: NDArray, after: int) -> bool:
        """The same for quotes in any place; whether the block ends between a pair of quotes."""
        line, last, skipped = self._lines, 0, -1
        for place in map(int, places):
            line += int((block[last:place] == NEWLINE).sum())
            last = place
            if place == skipped:
                continue
            before = int(block[place - 1]) if place else self._before
            behind = int(block[place + 1]) if place + 1 < len(block) else after
            if not self._inside:
                if self._ends[before]:
                    self._inside, self._opened = True, line
                elif place == 0 and before == QUOTE:
                    self._inside = True
            elif behind == QUOTE:
                skipped = place + 1
            else:
                if not self._ends[behind] and line > self._opened:
                    raise UnclosedQuote(self._opened)
                self._inside = False
        if skipped == len(block):
            self._inside = False
        return skipped == len(block)
