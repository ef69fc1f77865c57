"""Hashes of the values of rows: the same for equal rows, wherever they stand.

Rows are drawn by them (`hashed_draw.py`), in one table or in many partitions of it.
"""

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.frames.table_columns import FrameColumn, as_categories, column_names, read_columns

Hashes = NDArray[np.uint64]

CHUNK = 4_096
# Odd constants with bits all over (the golden ratio; the finaliser of MurmurHash3, Appleby 2011).
STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xFF51AFD7ED558CCD)
SECOND = np.uint64(0xC4CEB9FE1A85EC53)
HALF = np.uint64(33)


def row_hashes(table: Any) -> Hashes:
    """A hash of the values of each row of an array (n, d) or a data frame, whatever types: (n,)."""
    if column_names(table) is not None:
        return _frame_hashes(table)
    hashes = np.zeros(len(table), dtype=np.uint64)
    spare = np.empty(CHUNK, dtype=np.uint64)
    for start in range(0, len(table), CHUNK):
        own = hashes[start : start + CHUNK]
        for column, words in enumerate(_words(table[start : start + CHUNK].T)):
            words += _salt(column)
            own ^= words
            _mix(own, spare[: len(own)])
    return hashes


def mixed(words: Hashes) -> Hashes:
    """Every bit of the words (n,) depends on every other."""
    words = words.copy()
    _mix(words, np.empty_like(words))
    return words


def _mix(words: Hashes, spare: Hashes) -> None:
    """The same in place; spare (n,) is overwritten."""
    for factor in (FIRST, SECOND):
        np.right_shift(words, HALF, out=spare)
        words ^= spare
        words *= factor
    np.right_shift(words, HALF, out=spare)
    words ^= spare


def _frame_hashes(frame: Any) -> Hashes:
    own = np.zeros(frame.shape[0], dtype=np.uint64)
    for number, column in enumerate(read_columns(frame)):
        own = mixed(own ^ (_column_words(column) + _salt(number)))
    return own


def _column_words(column: FrameColumn) -> Hashes:
    if column.kind in ("numbers", "truths"):
        return _words(column.values)
    if column.values.dtype.kind in "mM":
        kind = column.values.dtype.kind
        return column.values.astype(f"{kind}8[us]").view(np.int64).astype(np.uint64)
    # Dates of Python become categories, by their text: numbers of categories differ from one
    # partition to another.
    column = as_categories(column)
    words = [_digest(level) for level in column.levels]
    return np.array([*words, *_words(np.array([np.nan]))], dtype=np.uint64)[column.values]


def _digest(text: str) -> np.uint64:
    return np.uint64(int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little"))


def _words(numbers: NDArray) -> Hashes:
    """The bits of numbers as float64; equal numbers have equal bits, and so have all NaN."""
    # Adding zero turns minus zero into zero, which is equal to it.
    numbers = np.add(numbers, 0.0, dtype=np.float64, order="C")
    gaps = np.isnan(numbers)
    if gaps.any():
        numbers[gaps] = np.nan
    return numbers.view(np.uint64)


def _salt(column: int) -> np.uint64:
    return np.uint64(int(STEP) * (column + 1) % 2**64)
