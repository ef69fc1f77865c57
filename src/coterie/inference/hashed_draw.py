"""Rows drawn by a hash of their values.

The default sample of a large table needs no seed and does not depend on the order of the rows: rows
are ordered by a hash of their values, and a context is a range of that order.
"""

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

CHUNK = 262_144
# Odd constants with bits all over (the golden ratio; the finaliser of MurmurHash3, Appleby 2011).
STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xFF51AFD7ED558CCD)
SECOND = np.uint64(0xC4CEB9FE1A85EC53)
HALF = np.uint64(33)


def row_hashes(table: NDArray) -> Hashes:
    """A hash of the values of each row (n, d), whatever their type: (n,)."""
    hashes = np.empty(len(table), dtype=np.uint64)
    for start in range(0, len(table), CHUNK):
        # Adding zero turns minus zero into zero, which is equal to it.
        part = np.ascontiguousarray(table[start : start + CHUNK], dtype=np.float64) + 0.0
        words = part.view(np.uint64)
        own = np.zeros(len(part), dtype=np.uint64)
        for column in range(words.shape[1]):
            salt = np.uint64(int(STEP) * (column + 1) % 2**64)
            own = _mixed(own ^ (words[:, column] + salt))
        hashes[start : start + CHUNK] = own
    return hashes


def draw_by_value(table: NDArray, size: int, n_contexts: int = 1) -> list[NDArray[np.intp]]:
    """Disjoint contexts of at most size rows of a table (n, d), each in the order of the table.

    Equal rows are told apart by how many of them came before, so that a value that a third of the
    rows have makes up a third of the sample; which of the equal rows are drawn does not matter.
    """
    if len(table) <= size:
        return [np.arange(len(table))]
    hashes = row_hashes(table)
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    place = np.arange(len(order))
    occurrence = place - np.maximum.accumulate(np.where(new, place, 0))
    again = _mixed(ordered ^ (STEP * (occurrence.astype(np.uint64) + np.uint64(1))))
    n_contexts = min(n_contexts, len(table) // size)
    wanted = n_contexts * size
    first = np.argpartition(again, wanted - 1)[:wanted]
    first = first[np.argsort(again[first], kind="stable")]
    return [np.sort(order[first[at : at + size]]) for at in range(0, wanted, size)]


def _mixed(words: Hashes) -> Hashes:
    """Every bit of the words (n,) depends on every other."""
    words = (words ^ (words >> HALF)) * FIRST
    words = (words ^ (words >> HALF)) * SECOND
    return words ^ (words >> HALF)
