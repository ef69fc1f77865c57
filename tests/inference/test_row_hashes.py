"""Equal rows have equal hashes, in whatever library and type they come."""

import struct

import numpy as np
import pandas as pd
import polars as pl
import pytest

from coterie.inference.row_hashes import CHUNK, row_hashes


def test_a_frame_of_numbers_hashes_as_its_array():
    table = np.random.default_rng(0).normal(size=(20_000, 3)).astype(np.float32)
    frame = pd.DataFrame(table, columns=list("abc"))
    np.testing.assert_array_equal(row_hashes(frame), row_hashes(table))
    np.testing.assert_array_equal(row_hashes(table[::-1])[::-1], row_hashes(table))


COLUMNS = {
    "number": [1, 2, 1, 1],
    "gap": [0.5, None, 0.5, 0.5],
    "text": ["a", None, "a", "ä"],
    "truth": [True, False, True, True],
}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_rows_of_all_kinds(library):
    hashes = row_hashes(library(COLUMNS))
    assert hashes[0] == hashes[2]
    assert len(set(hashes.tolist())) == 3
    np.testing.assert_array_equal(hashes, row_hashes(pl.DataFrame(COLUMNS).to_arrow()))


def test_categories_count_by_their_text_not_by_their_number():
    """In another partition, other categories come first."""
    frame = pd.DataFrame({"text": ["a", "b", None, "c"], "kind": pd.Categorical([*"xyxz"])})
    whole = row_hashes(frame)
    np.testing.assert_array_equal(row_hashes(frame.iloc[::-1])[::-1], whole)
    parts = [row_hashes(frame.iloc[at : at + 1])[0] for at in range(4)]  # of one, only gaps
    assert parts == whole.tolist()
    assert len(set(parts)) == 4


def scalar_hash(row):
    """The hash of a row of numbers, one step of MurmurHash3 after the other, in whole numbers."""
    state, most = 0, 2**64
    for column, number in enumerate(row):
        word = struct.unpack("<Q", struct.pack("<d", float(number) + 0.0))[0]
        state ^= (word + 0x9E3779B97F4A7C15 * (column + 1)) % most
        for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            state = (state ^ state >> 33) * factor % most
        state ^= state >> 33
    return state


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("order", "CF")
def test_hashes_are_those_of_the_definition(kind, order):
    """A table keeps its sample from one version to the next."""
    table = np.random.default_rng(0).normal(scale=1e3, size=(CHUNK + 50, 3))
    table[:2, 1] = 0.0, -0.0
    table = np.array(table, dtype=kind, order=order)
    hashes = row_hashes(table)
    for row in (0, 1, 2, CHUNK - 1, CHUNK, CHUNK + 49):
        assert hashes[row] == scalar_hash(table[row])


def test_huge_numbers_are_not_taken_for_gaps():
    table = np.array([[1e300], [-np.inf], [np.inf], [np.nan]])
    assert [int(each) for each in row_hashes(table[:3])] == [scalar_hash(row) for row in table[:3]]
    assert len(set(row_hashes(table).tolist())) == 4


def test_all_gaps_are_equal():
    table = np.array([[np.nan, 1.0], [-np.nan, 1.0], [0.0, 1.0]])
    table.view(np.uint64)[1, 0] |= 7  # another of the many NaN
    first, second, other = row_hashes(table)
    assert first == second != other


def test_dates_count_whatever_their_unit():
    days = pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-01"])
    seconds = row_hashes(pd.DataFrame({"when": days.astype("datetime64[s]")}))
    nanoseconds = row_hashes(pd.DataFrame({"when": days.astype("datetime64[ns]")}))
    np.testing.assert_array_equal(seconds, nanoseconds)
    assert seconds[0] == seconds[2] != seconds[1]
