import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from coterie.frames.table_columns import as_categories, column_names, read_columns

FRAMES = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])


def only(frame):
    (column,) = read_columns(frame)
    return column


def cells(column):
    """The categories of a column, None if missing."""
    return [None if code < 0 else column.levels[code] for code in column.values]


@FRAMES
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 3], "numbers"),
        ([0.5, None, 1.5], "numbers"),
        ([1, None, 3], "numbers"),
        ([None, None, None], "numbers"),
        ([Decimal("0.5"), None, Decimal("1.5")], "numbers"),
        ([True, False, True], "truths"),
        ([True, None, True], "truths"),
        (["a", "b", None], "categories"),
        ([dt.datetime(2020, 1, 1), None, dt.datetime(2021, 1, 1)], "dates"),
        ([dt.date(2020, 1, 1)] * 3, "dates"),
        ([dt.timedelta(hours=1)] * 3, "dates"),
    ],
    ids=str,
)
def test_a_column_is_known_by_its_values(frame, values, kind):
    column = only(frame({"x": values}))
    assert (column.name, column.kind, len(column.values)) == ("x", kind, 3)
    if kind in ("numbers", "truths"):
        expected = [np.nan if value is None else float(value) for value in values]
        np.testing.assert_array_equal(column.values, expected)
    if kind == "categories":
        assert cells(column) == values


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": pd.Categorical(["b", "a", None])}),
        pl.DataFrame({"x": pl.Series(["b", "a", None], dtype=pl.Categorical)}),
        pl.DataFrame({"x": pl.Series(["b", "a", None], dtype=pl.Enum(["a", "b"]))}),
        pa.table({"x": pa.array(["b", "a", None]).dictionary_encode()}),
        pd.DataFrame({"x": pd.array(["b", "a", None], dtype="string")}),
        pd.DataFrame({"x": pd.Series(["b", "a", np.nan], dtype=object)}),
    ],
    ids=["pandas", "polars", "polars enum", "pyarrow", "pandas string", "pandas object"],
)
def test_declared_categories_keep_their_gaps(frame):
    column = only(frame)
    assert column.kind == "categories"
    assert cells(column) == ["b", "a", None]


def test_numbers_declared_as_categories_are_categories():
    column = only(pd.DataFrame({"x": pd.Categorical([3, 1, None])}))
    assert column.kind == "categories"
    assert cells(column) == ["3", "1", None]


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean"])
def test_nullable_columns_of_pandas(dtype):
    column = only(pd.DataFrame({"x": pd.array([1, None, 0], dtype=dtype)}))
    np.testing.assert_array_equal(column.values, [1, np.nan, 0])


def test_small_floats_stay_small():
    assert only(pd.DataFrame({"x": np.ones(3, np.float32)})).values.dtype == np.float32


def test_columns_of_the_same_name_are_told_apart():
    frame = pd.DataFrame([[1, "a"], [2, "b"]], columns=["x", "x"])
    assert [column.kind for column in read_columns(frame)] == ["numbers", "categories"]


def test_complex_numbers_are_refused_by_name():
    with pytest.raises(ValueError, match="Complex data not supported: column 'x'"):
        only(pd.DataFrame({"x": [1j]}))


@FRAMES
def test_frames_have_names(frame):
    assert column_names(frame({"x": [1], "y": [2]})) == ["x", "y"]


@pytest.mark.parametrize("table", [np.zeros((2, 2)), [[1]], None, "text", pd.Series([1])])
def test_what_is_no_frame_has_none(table):
    assert column_names(table) is None
    assert list(read_columns(table)) == []


def test_texts_that_stand_for_nothing_are_missing_and_spaces_are_nothing():
    frame = pd.DataFrame({"x": [" Ulm", "NA", "", "ulm", "?", "none", "Ulm "]})
    assert cells(only(frame)) == ["Ulm", None, None, "ulm", None, "none", "Ulm"]


def test_cells_of_any_type_may_be_categories():
    frame = pd.DataFrame({"x": [(1, 2), [3], "a", 4.0, None]})
    assert cells(only(frame)) == ["(1, 2)", "[3]", "a", "4", None]


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        ([2.0, 1.5, np.nan], ["2", "1.5", None]),
        ([True, False, True], ["1", "0", "1"]),
        (
            np.array(["2020-01-01", "2021-01-01", "NaT"], "M8[D]"),
            ["2020-01-01", "2021-01-01", None],
        ),
    ],
)
def test_a_column_of_any_kind_may_be_called_categorical(values, levels):
    found = cells(as_categories(only(pd.DataFrame({"x": values}))))
    assert [level and level[:10] for level in found] == levels


@FRAMES
def test_lists_in_cells_are_categories(frame):
    column = only(frame({"pair": [[1, 2], [3, 4], [1, 2]]}))
    assert column.kind == "categories"
    assert column.values.tolist() == [0, 1, 0]


def test_arrays_in_cells_are_categories():
    column = only(pd.DataFrame({"pair": [np.zeros(2), np.ones(2), np.zeros(2)]}))
    assert column.kind == "categories"
    assert column.values.tolist() == [0, 1, 0]


def test_a_class_has_no_columns():
    assert column_names(pd.DataFrame) is None
