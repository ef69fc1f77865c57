"""Rows drawn by value: the same for the same rows in any order."""

import numpy as np
import pytest

from coterie.inference import hashed_draw
from coterie.inference.hashed_draw import (
    Counted,
    draw_by_value,
    draw_copies,
    draw_rows,
    in_hashed_order,
    merge_sketches,
    salted,
    sketch_rows,
)
from coterie.inference.row_hashes import row_hashes


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


def test_a_salt_draws_another_sample_in_any_order(table):
    order = np.random.default_rng(1).permutation(len(table))
    (plain,), (one,), (permuted,) = (
        draw_by_value(rows, 500, salt=salt)
        for rows, salt in [(table, 0), (table, 5), (table[order], 5)]
    )
    np.testing.assert_array_equal(in_order(table[one]), in_order(table[order][permuted]))
    assert len(np.intersect1d(plain, one)) < 250


def test_the_order_of_hashes_is_that_of_the_values(table):
    order = np.random.default_rng(1).permutation(len(table))
    np.testing.assert_array_equal(
        table[in_hashed_order(table)], table[order][in_hashed_order(table[order])]
    )


@pytest.fixture
def crowded(monkeypatch):
    """Few values are counted, so that most tables have more: 20,000 rows, 6,000 of them equal."""
    monkeypatch.setattr(hashed_draw, "CAPACITY", 2_000)
    monkeypatch.setattr(hashed_draw, "RARITY", 128)
    monkeypatch.setattr(hashed_draw, "CHUNK", 3_000)
    draw = np.random.default_rng(2)
    values = draw.normal(size=(20_000, 2)).round(2)
    values[:6_000] = 1.5
    return draw.permutation(values)


def drawn_from(parts, size):
    """The rows that are drawn from partitions of a table."""
    sketched = [sketch_rows(row_hashes(part), 2_000) for part in parts]
    total, first = merge_sketches([each.sketch for each in sketched])
    rows = np.concatenate([part[each.rows] for part, each in zip(parts, sketched, strict=True)])
    whole = np.concatenate(parts)
    hashes = row_hashes(whole)
    candidates = total.candidates()
    counts = np.array([(hashes == each).sum() for each in candidates], dtype=np.int64)
    often = counts * hashed_draw.RARITY > len(whole)
    examples = [whole[np.argmax(hashes == each)] for each in candidates[often]]
    drawn = draw_copies(total, Counted(candidates[often], counts[often]), size)
    return np.concatenate([rows[first], np.reshape(examples, (-1, 2))])[drawn.value]


@pytest.mark.parametrize("cuts", [[], [1, 5_000], [0, 0, 7, 19_999], [*range(400, 20_000, 400)]])
def test_partitions_are_drawn_from_as_the_whole(crowded, cuts):
    (rows,) = draw_rows(row_hashes(crowded), 1_000)
    again = drawn_from(np.split(crowded[::-1], cuts), 1_000)
    np.testing.assert_array_equal(in_order(crowded[rows]), in_order(again))
    assert len(np.unique(rows)) == 1_000


def test_more_values_than_are_counted_are_drawn_in_proportion(crowded):
    (rows,) = draw_rows(row_hashes(crowded), 1_000)
    drawn = crowded[rows]
    assert (drawn == 1.5).all(1).mean() == pytest.approx(0.3, abs=0.04)
    others = drawn[(drawn != 1.5).any(1)]
    assert others.mean(0) == pytest.approx([0, 0], abs=0.12)
    assert others.std(0) == pytest.approx([1, 1], abs=0.08)


def test_values_that_are_there_twice_are_drawn_twice_as_often(monkeypatch):
    monkeypatch.setattr(hashed_draw, "CAPACITY", 2_000)
    values = np.random.default_rng(0).normal(size=(12_000, 1))
    twice = np.concatenate([values, values[:6_000]])
    (rows,) = draw_rows(row_hashes(twice), 2_000)
    assert np.isin(twice[rows], values[:6_000]).mean() == pytest.approx(2 / 3, abs=0.04)


def test_salted_with_zero_is_itself():
    hashes = row_hashes(np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(salted(hashes, 0), hashes)


@pytest.mark.parametrize("decimals", [1, 9])  # many equal rows, and none
def test_a_share_of_the_values_is_enough_or_known_to_be_short(monkeypatch, decimals):
    monkeypatch.setattr(hashed_draw, "RARITY", 64)
    hashes = row_hashes(np.random.default_rng(0).normal(size=(4_000, 2)).round(decimals))
    whole = sketch_rows(hashes, 300).sketch
    share = hashed_draw.share_of(len(hashes), 300)
    parts = [sketch_rows(part, 300, share).sketch for part in np.array_split(hashes, 5)]
    merged = merge_sketches(parts).sketch
    assert share < 1
    assert merged.n_rows == whole.n_rows
    if merged.is_short:
        assert decimals == 1
        assert len(merged.first.hashes) < 300
    else:
        np.testing.assert_array_equal(merged.first.hashes, whole.first.hashes)
        np.testing.assert_array_equal(merged.first.counts, whole.first.counts)


def test_the_sketch_of_distinct_rows_is_that_of_any(monkeypatch):
    monkeypatch.setattr(hashed_draw, "RARITY", 64)
    hashes = row_hashes(np.random.default_rng(0).normal(size=(4_000, 2)))
    quick = sketch_rows(hashes, 300)
    parts = [sketch_rows(part, 300) for part in np.array_split(hashes, 20)]  # too small to be quick
    slow = merge_sketches([part.sketch for part in parts])
    np.testing.assert_array_equal(quick.sketch.first.hashes, slow.sketch.first.hashes)
    np.testing.assert_array_equal(hashes[quick.rows], quick.sketch.first.hashes)
    assert not len(quick.sketch.others.hashes)
