import os
from pathlib import Path

import numpy as np
import pytest

from coterie.frames.column_roles import DATE, are_dates, identifies, is_constant
from coterie.frames.table_columns import FrameColumn, coded


def numbers(values, name="x"):
    return FrameColumn(name, "numbers", np.asarray(values, dtype=np.float64))


RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("x", np.arange(30)),
        ("x", RANDOM.permutation(30) + 7),
        ("x", np.arange(0, 3000, 100)),
        ("x", np.delete(np.arange(100_001, 101_000), [3, 77, 500, 501])),
        ("x", RANDOM.choice(5_000, 1_000, replace=False)),
        ("Unnamed: 0", [0, 1, 2]),
        ("", [5, 6, 7]),
        ("id", [3, 3, 8]),
        ("customer_id", RANDOM.integers(10**9, 2 * 10**9, 50)),
        ("customerID", [11, 3, 8]),
        ("PassengerId", [11, 3, 8]),
        ("User-UUID", [11, 3, 8]),
        ("account number", [11, 3, 8]),
        ("rowid", [11, 3, 8]),
    ],
)
def test_identifiers_are_known_by_name_and_by_numbers_that_never_repeat(name, values):
    assert identifies(numbers(values, name)).startswith("identifies the rows")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("income", RANDOM.choice(180_000, 500, replace=False) + 20_000),
        ("price", RANDOM.choice(9_000, 60, replace=False) * 100),
        ("x", np.arange(30) / 2),
        ("x", [1, 2, 3, 4, 5]),
        ("age", RANDOM.integers(18, 90, 300)),
        ("number", [3, 3, 8]),
        ("key", RANDOM.integers(0, 12, 100)),
        ("grid", [11, 3, 8]),
        ("paid", RANDOM.choice(100_000, 100, replace=False)),
        ("", [4, 2]),
        ("id", [0.5, 1.5]),
        ("id", [7]),
    ],
)
def test_measurements_are_no_identifiers_even_if_none_repeats(name, values):
    assert identifies(numbers(values, name)) is None


def test_gaps_do_not_make_an_identifier_a_measurement():
    values = np.arange(40.0)
    values[7] = np.nan
    assert identifies(numbers(values)) is not None


def test_order_and_offset_change_nothing():
    values = np.arange(9)
    verdict = identifies(numbers(values))
    assert verdict is not None
    assert identifies(numbers(RANDOM.permutation(values) - 10**6)) == verdict
    assert identifies(numbers(np.arange(6))) is None  # six numbers may differ by chance


@pytest.mark.parametrize(
    "text",
    [
        *("2024-01-31", "2024/1/31", "31.01.2024", "1/31/2024", "2024-01", "12:30", "12:30:05.25"),
        *("2024-01-31 12:30", "2024-01-31T12:30:05Z", "2024-01-31T12:30:05.123+01:00"),
    ],
)
def test_dates_are_known_in_text(text):
    assert DATE.fullmatch(text)


@pytest.mark.parametrize(
    "text", ["", "2024", "1-2", "a 12:30", "1234-56", "10.5.3", "7", "99-2024"]
)
def test_other_text_is_no_date(text):
    assert not DATE.fullmatch(text)


def test_a_column_of_dates_holds_nothing_else():
    assert are_dates(coded("x", ["2024-01-31", None, "2024-02-01"]))
    assert not are_dates(coded("x", ["2024-01-31", "soon"]))
    assert not are_dates(coded("x", [None, None]))


def test_constants_may_have_gaps():
    assert is_constant(numbers([1, np.nan, 1]))
    assert not is_constant(numbers([1, np.nan, 2]))
    assert not is_constant(numbers([np.nan, np.nan]))


@pytest.mark.data
@pytest.mark.parametrize("name", ["real_tables.npz", "clustering_suite.npz"])
def test_no_measurement_of_real_tables_is_taken_for_an_identifier(name):
    folder = os.environ.get("COTERIE_DATA")
    if folder is None:
        pytest.skip("COTERIE_DATA does not name a folder with the real data sets")
    n_whole = 0
    with np.load(Path(folder) / name) as tables:
        for key in tables.files:
            table = tables[key]
            if table.ndim != 2 or table.dtype.kind not in "iuf":
                continue
            for values in table.T.astype(np.float64):
                n_whole += bool((values == np.rint(values)).all())
                assert identifies(numbers(values)) is None, key
    assert n_whole > 90
