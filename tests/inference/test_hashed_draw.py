"""Rows drawn by value: the same for the same rows in any order."""

import numpy as np
import pytest

from coterie.inference.hashed_draw import draw_by_value, row_hashes


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5_000, 3)).round(1)
    values[:1_500] = 0.0  # a value that a third of the rows have
    return values


def in_order(rows):
    return rows[np.lexsort(rows.T)]


def test_the_order_of_rows_does_not_matter(table):
    order = np.random.default_rng(1).permutation(len(table))
    for one, other in zip(
        draw_by_value(table, 500, 3), draw_by_value(table[order], 500, 3), strict=True
    ):
        np.testing.assert_array_equal(in_order(table[one]), in_order(table[order][other]))


def test_contexts_are_disjoint_and_of_the_size(table):
    contexts = draw_by_value(table, 500, 4)
    assert [len(each) for each in contexts] == [500] * 4
    assert len(np.unique(np.concatenate(contexts))) == 2_000


def test_equal_rows_are_drawn_in_proportion(table):
    (rows,) = draw_by_value(table, 2_000)
    share = (table[rows] == 0).all(1).mean()
    assert share == pytest.approx(0.3, abs=0.03)


def test_small_tables_are_taken_whole(table):
    np.testing.assert_array_equal(draw_by_value(table, 5_000, 3)[0], np.arange(5_000))


def test_equal_numbers_have_equal_hashes_whatever_their_type():
    table = np.array([[1.0, -0.0], [2.5, 3.0]])
    np.testing.assert_array_equal(row_hashes(table), row_hashes((table + 0.0).astype(np.float32)))


def test_columns_are_told_apart():
    table = np.array([[1.0, 2.0], [2.0, 1.0]])
    assert len(np.unique(row_hashes(table))) == 2
