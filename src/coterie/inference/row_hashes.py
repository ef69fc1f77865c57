"""Hashes of the values of rows: the same for equal rows, wherever they stand.

Rows are drawn by them (`hashed_draw.py`), in one table or in many partitions of it.
"""

import math
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.frames.table_columns import FrameColumn, as_categories, column_names, read_columns

Hashes = NDArray[np.uint64]

CHUNK = 16_384  # rows at a time, so that they stay in the cache
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
    size = min(len(table), CHUNK)
    numbers, spare = np.empty(size), np.empty(size, dtype=np.uint64)
    for start in range(0, len(table), CHUNK):
        own = hashes[start : start + CHUNK]
        for number, column in enumerate(table[start : start + CHUNK].T):
            words = _words(column, numbers[: len(own)])
            words += _salt(number)
            _absorb(own, words, spare[: len(own)])
        _finish(own, spare[: len(own)])
    return hashes


def mixed(words: Hashes) -> Hashes:
    """Every bit of the words (n,) depends on every other."""
    state = np.zeros(len(words), dtype=np.uint64)
    spare = np.empty(min(len(words), CHUNK), dtype=np.uint64)
    for start in range(0, len(words), CHUNK):
        own = state[start : start + CHUNK]
        _absorb(own, words[start : start + CHUNK].copy(), spare[: len(own)])
        _finish(own, spare[: len(own)])
    return state


def _absorb(state: Hashes, words: Hashes, spare: Hashes) -> None:
    """Mix words (n,) into the state (n,), in place; words and spare (n,) are overwritten.

    This is the finaliser of MurmurHash3, of the finished state and the words. Its last step, to
    add the upper half of the bits to the lower one, would be undone by its first step, because
    twice a half leaves nothing. Both are left out, but for the words.
    """
    np.right_shift(words, HALF, out=spare)
    words ^= spare
    state ^= words
    state *= FIRST
    np.right_shift(state, HALF, out=spare)
    state ^= spare
    state *= SECOND


def _finish(state: Hashes, spare: Hashes) -> None:
    """The last step, in place."""
    np.right_shift(state, HALF, out=spare)
    state ^= spare


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


def _words(column: NDArray, memory: NDArray[np.float64] | None = None) -> Hashes:
    """The bits of numbers (n,) as float64; equal numbers have equal bits, and so have all NaN.

    They are written into the memory (n,), if there is one.
    """
    numbers = np.empty(len(column)) if memory is None else memory
    np.copyto(numbers, column, casting="same_kind")
    numbers += 0.0  # turns minus zero into zero, which is equal to it
    if math.isnan(numbers.max(initial=-np.inf)):  # NaN, if one is
        numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.uint64)


def _salt(column: int) -> np.uint64:
    return np.uint64(int(STEP) * (column + 1) % 2**64)
