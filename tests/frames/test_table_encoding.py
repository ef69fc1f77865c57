import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from coterie.frames.table_encoding import MAX_LEVELS, ColumnChoice, fit_encoding

FRAMES = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
PEOPLE = {
    "age": [30.0, None, 50.0, 40.0, 90.0, 10.0],
    "town": ["Bonn", "Ulm", "Ulm", None, "Ulm", "Bonn"],
    "member": [True, False, True, True, False, False],
    "name": ["Ann", "Bob", "Cid", "Dan", "Eve", "Fay"],
    "born": [dt.datetime(1990, 1, day + 1) for day in range(6)],
}


def encode(frame):
    return fit_encoding(frame)(frame).table


@FRAMES
def test_every_kind_of_column(frame):
    encoding = fit_encoding(frame(PEOPLE))
    table, notes = encoding(frame(PEOPLE))
    assert encoding.names == ("age", "town=Bonn", "town=Ulm", "member")
    assert encoding.groups.tolist() == [-1, 1, 1, 2]
    assert encoding.notes == (
        "columns encoded as categories: 'town' (2 of them)",
        "columns dropped: 'name' (6 different values in 6 rows),"
        " 'born' (dates or times; turn them into numbers to use them)",
    )
    assert notes == (
        "missing values filled with the median: 'age' (1 value)",
        "missing values encoded as no category: 'town' (1 value)",
    )
    assert table[:, 0].tolist() == [30, 40, 50, 40, 90, 10]
    assert (table[:, 1:3] > 0).tolist() == [
        [town == "Bonn", town == "Ulm"] for town in PEOPLE["town"]
    ]
    assert table[:, 3].tolist() == PEOPLE["member"]


@FRAMES
def test_a_frame_of_numbers_is_left_alone(frame):
    numbers = {"x": [1.5, 2.5, 0.0], "y": [3, 2, 1]}
    encoding = fit_encoding(frame(numbers))
    assert encoding.takes_arrays
    assert encoding.notes == encoding(frame(numbers)).notes == ()
    np.testing.assert_array_equal(encode(frame(numbers)), [[1.5, 3], [2.5, 2], [0, 1]])


def test_a_column_of_categories_varies_as_much_as_one_of_numbers():
    random = np.random.default_rng(0)
    table = encode(
        pd.DataFrame(
            {
                "x": random.normal(0, 3, 500),
                "y": random.normal(0, 4, 500),
                "colour": random.choice(["red", "green", "blue"], 500, p=[0.7, 0.2, 0.1]),
            }
        )
    )
    assert table.shape == (500, 5)
    numbers, colours = table[:, :2].var(0), table[:, 2:].var(0)
    assert colours.sum() == pytest.approx(numbers.mean())


def test_without_numbers_the_variance_is_one():
    assert encode(pd.DataFrame({"c": list("aabbbc") * 3})).var(0).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([None] * 100, "no values"),
        ([np.nan] * 100, "no values"),
        (["same"] * 100, "constant"),
        ([f"id{i}" for i in range(100)], "100 different values in 100 rows"),
        ([f"l{i % (MAX_LEVELS + 1)}" for i in range(100)], f"{MAX_LEVELS + 1} different values"),
        (["a", "b"] + [None] * 98, "2 different values in 2 rows"),
    ],
    ids=["none", "nan", "one", "ids", "many", "sparse"],
)
def test_columns_that_cannot_tell_clusters_apart_are_left_out(values, reason):
    encoding = fit_encoding(pd.DataFrame({"x": np.arange(100.0) / 3, "odd": values}))
    assert encoding.names == ("x",)
    (note,) = encoding.notes
    assert note.startswith(f"columns dropped: 'odd' ({reason}")


def test_as_many_categories_as_allowed_are_encoded():
    levels = [f"l{i % MAX_LEVELS}" for i in range(100)]
    assert encode(pd.DataFrame({"c": levels})).shape == (100, MAX_LEVELS)


def test_one_category_beside_gaps_says_something():
    assert encode(pd.DataFrame({"c": ["yes", None, "yes", None]})).astype(bool).tolist() == [
        [True],
        [False],
        [True],
        [False],
    ]


def test_a_frame_without_a_column_to_use_is_refused_with_the_reasons():
    with pytest.raises(ValueError, match=r"no usable column; .*'name' \(2 different"):
        fit_encoding(pd.DataFrame({"name": ["a", "b"]}))


@FRAMES
def test_new_rows_are_encoded_as_the_old(frame):
    encoding = fit_encoding(frame(PEOPLE))
    rows = {name: values[2:5] for name, values in PEOPLE.items()}
    old, new = encoding(frame(PEOPLE)).table, encoding(frame(rows)).table
    np.testing.assert_array_equal(new, old[2:5])


def test_values_that_are_new_belong_to_no_category():
    encoding = fit_encoding(pd.DataFrame({"c": list("aabb"), "x": [1.0, 2, 3, 4]}))
    table, notes = encoding(pd.DataFrame({"c": ["z", "a", "y"], "x": [1.0, None, 3]}))
    assert (table[:, :2] > 0).tolist() == [[False, False], [True, False], [False, False]]
    assert notes == (
        "values not present in fit, encoded as no category: 'c' (2 values)",
        "missing values filled with the median: 'x' (1 value)",
    )
    assert table[1, 2] == 2.5


def test_whole_numbers_are_the_same_category_however_stored():
    declared = pd.DataFrame({"c": pd.Categorical([1, 2, 1, 2])})
    encoding = fit_encoding(declared)
    expected = encoding(declared).table
    for stored in ([1, 2, 1, 2], [1.0, 2.0, 1.0, 2.0], ["1", "2", "1", "2"]):
        table, notes = encoding(pd.DataFrame({"c": stored}))
        np.testing.assert_array_equal(table, expected)
        assert notes == ()


@pytest.mark.parametrize(
    ("fitted", "given", "words"),
    [
        ([1.0, 2.0], ["a", "b"], "'x' held numbers in fit and holds categories now"),
        ([1.0, 2.0], [dt.datetime(2020, 1, 1)] * 2, "'x' held numbers in fit and holds dates"),
        (list("aabb"), [dt.datetime(2020, 1, 1)] * 4, "'x' held categories in fit and holds dates"),
    ],
)
def test_columns_of_another_kind_are_refused_by_name(fitted, given, words):
    encoding = fit_encoding(pd.DataFrame({"x": fitted}))
    with pytest.raises(ValueError, match=words):
        encoding(pd.DataFrame({"x": given}))


def test_small_floats_stay_small():
    frame = pd.DataFrame({"x": np.array([1, 3, 2], np.float32), "b": [True, False, True]})
    assert encode(frame).dtype == np.float32


def test_identifiers_and_constants_are_left_out_and_do_not_set_the_scale():
    frame = pd.DataFrame(
        {
            "customer_id": np.arange(1000, 1060),
            "x": np.random.default_rng(0).normal(size=60),
            "one": 1.0,
            "town": ["Ulm", "Bonn", "Jena"] * 20,
        }
    )
    encoding = fit_encoding(frame)
    assert encoding.names == ("x", "town=Bonn", "town=Jena", "town=Ulm")
    assert encoding.used == ("x", "town")
    assert [left.name for left in encoding.left_out] == ["customer_id", "one"]
    table = encoding(frame).table
    assert table[:, 1:].var(0).sum() == pytest.approx(table[:, 0].var())
    people = encoding.readable(table)
    np.testing.assert_array_equal(people[:, 0], table[:, 0])
    np.testing.assert_allclose(people[:3, 1:], [[0, 0, 1], [1, 0, 0], [0, 1, 0]])


def test_what_the_user_names_is_used():
    frame = pd.DataFrame({"id": np.arange(20), "x": np.arange(20) / 3, "zone": [1, 2] * 10})
    assert fit_encoding(frame).names == ("x", "zone")
    assert fit_encoding(frame, ColumnChoice(columns=["id", "x"])).names == ("id", "x")
    assert fit_encoding(frame, ColumnChoice(exclude=["x"])).names == ("zone",)
    by_zone = fit_encoding(frame, ColumnChoice(categorical=["zone"]))
    assert by_zone.names == ("x", "zone=1", "zone=2")
    assert by_zone.categories == {"zone": ("1", "2")}


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (ColumnChoice(columns=["y"]), "no column 'y'"),
        (ColumnChoice(columns=["x"], exclude=["x"]), "'x' is both selected and excluded"),
        (ColumnChoice(columns=["born"]), "'born' cannot be used for clustering: dates"),
        (ColumnChoice(categorical=["one"]), "'one' cannot be used for clustering: constant"),
    ],
)
def test_a_choice_that_cannot_be_is_refused_by_name(choice, words):
    born = [dt.datetime(1990, 1, day + 1) for day in range(6)]
    frame = pd.DataFrame({"x": np.arange(6) / 3, "born": born, "one": 1})
    with pytest.raises(ValueError, match=words):
        fit_encoding(frame, choice)


def test_dates_in_text_are_dates_unless_they_are_called_categories():
    frame = pd.DataFrame({"x": np.arange(20) / 3, "month": ["2020-01", "2020-02"] * 10})
    assert fit_encoding(frame).names == ("x",)
    called = fit_encoding(frame, ColumnChoice(categorical=["month"]))
    assert called.names == ("x", "month=2020-01", "month=2020-02")


def test_money_and_percentages_in_text_are_numbers():
    as_text = pd.DataFrame({"paid": ["$1,200.50", None, "(3 USD)"], "off": ["3.0%", "7%", "12%"]})
    as_numbers = pd.DataFrame({"paid": [1200.5, np.nan, -3], "off": [3.0, 7, 12]})
    one, other = fit_encoding(as_text), fit_encoding(as_numbers)
    np.testing.assert_array_equal(one(as_text).table, other(as_numbers).table)
    np.testing.assert_array_equal(one(as_numbers).table, other(as_text).table)
    forms = "'paid' (currency, parentheses for negative numbers, grouped thousands)"
    assert one.notes[0] == f"read as numbers: {forms}, 'off' (percentages)"


def test_digits_in_text_stay_categories():
    zones = pd.DataFrame({"zone": ["1", "2", "1", "2"], "price": ["$1", "$1", "free", "free"]})
    assert fit_encoding(zones).names == ("zone=1", "zone=2", "price=$1", "price=free")


def test_truths_in_text_are_truths():
    as_text = pd.DataFrame({"x": [1.5, 2, 3, 4], "yes": ["true", "False", None, "TRUE"]})
    as_truths = pd.DataFrame({"x": [1.5, 2, 3, 4], "yes": [True, False, None, True]})
    one, other = fit_encoding(as_text), fit_encoding(as_truths)
    np.testing.assert_array_equal(one(as_text).table, other(as_truths).table)
    np.testing.assert_array_equal(one.groups, other.groups)
    np.testing.assert_array_equal(other(as_text).table, one(as_truths).table)


def test_a_numeric_table_without_its_identifiers_takes_arrays():
    frame = pd.DataFrame({"id": np.arange(20), "x": np.arange(20) / 3})
    encoding = fit_encoding(frame)
    assert encoding.takes_arrays
    np.testing.assert_array_equal(encoding.of_array(frame.to_numpy()), encoding(frame).table)
