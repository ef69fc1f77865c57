"""Rows drawn from a stream are those that are drawn from the table in memory."""

import numpy as np
import pytest

from coterie.estimators import streamed_draw
from coterie.estimators.drawing import draw, locate, merge, survey
from coterie.estimators.streamed_draw import HashedSample
from coterie.inference import hashed_draw
from coterie.inference.hashed_draw import draw_by_value


def in_order(rows):
    return rows[np.lexsort(rows.T)]


def streamed(batches, size, salt=0):
    sample = HashedSample(size, 2, lambda: iter(batches), salt)
    for batch in batches:
        sample.add(batch)
    return sample.drawn()


@pytest.fixture
def small(monkeypatch):
    """As for tables of many more rows."""
    monkeypatch.setattr(streamed_draw, "ENOUGH", 400)
    monkeypatch.setattr(streamed_draw, "CAPACITY", 300)
    for module in (hashed_draw, __import__("coterie.estimators.drawing", fromlist=["draw"])):
        monkeypatch.setattr(module, "RARITY", 50)


@pytest.mark.parametrize("decimals", [0, 1, 6])  # few values, many equal rows, none
@pytest.mark.parametrize("cuts", [[1, 50, 900], [777], [300, 600, 1_200, 2_400]])
def test_it_draws_what_partitions_do(small, decimals, cuts):
    table = np.random.default_rng(0).normal(0, 3, size=(3_000, 2)).round(decimals)
    table[::7, 1] = np.nan
    rows, values = streamed(np.split(table, cuts), 300, salt=5)
    parts = np.array_split(table[::-1], 4)
    drawn = draw(
        merge([survey(part, 300, 5) for part in parts]),
        lambda hashes: [locate(part, hashes, 5) for part in parts],
    )
    np.testing.assert_array_equal(in_order(values), in_order(drawn.rows))
    np.testing.assert_array_equal(values, table[rows])
    assert (np.diff(rows) >= 0).all()


@pytest.mark.parametrize("decimals", [1, 6])
def test_it_draws_what_is_drawn_in_memory(decimals):
    table = np.random.default_rng(0).normal(size=(1_000, 2)).round(decimals)
    _, values = streamed(np.split(table, [10, 700]), 750, salt=5)
    (rows,) = draw_by_value(table, 750, salt=5)
    assert len(values) == 750
    np.testing.assert_array_equal(in_order(values), in_order(table[rows]))


def test_few_rows_are_all_there_in_their_order():
    table = np.random.default_rng(0).integers(0, 3, size=(300, 2)).astype(float)
    rows, values = streamed(np.split(table, [10, 100]), 300)
    np.testing.assert_array_equal(values, table)
    np.testing.assert_array_equal(rows, np.arange(300))


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_missing_values_are_counted_in_each_column(kind):
    part = np.arange(20).reshape(10, 2).astype(kind)
    assert survey(part).missing.tolist() == [0, 0]
    assert survey(part[:0]).missing.tolist() == [0, 0]
    if kind != np.int64:
        part[2:5, 1] = np.nan
        assert survey(part).missing.tolist() == [0, 3]
        assert merge([survey(part), survey(part[:3])]).missing.tolist() == [0, 4]
