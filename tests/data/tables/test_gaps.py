import numpy as np
import pandas as pd
import pytest

from coterie.data.tables import delimited
from coterie.data.tables.columns import Choice
from coterie.data.tables.gaps import filled_notes
from coterie.data.tables.survey import read_table
from coterie.data.tables.table import Filled, LeftOut, SourceError
from coterie.frames.table_encoding import fit_encoding


@pytest.mark.parametrize("cell", ["", "NA", "nan", "NaN", "null", "?", " n/a "])
def test_a_gap_gets_the_median_of_its_column(csv, cell):
    table = read_table(csv(f"x,y\n1,2\n3,{cell}\n5,6\n7,9\n"))
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 6], [5, 6], [7, 9]])
    assert table.filled == (Filled("y", 1, 6.0),)
    assert table.notes == ("missing values filled with the median: 'y' (1 value)",)


def test_a_file_is_filled_in_the_numbers_and_words_of_a_data_frame(csv, tmp_path):
    random = np.random.default_rng(0)
    values = random.normal(size=(60, 4)) * [1, 20, 3e5, 0.1]
    values[random.random(values.shape) < 0.2] = np.nan
    frame = pd.DataFrame(values, columns=list("abcd"))
    frame["a"] = values[:, 0] = np.arange(60.0) ** 2  # a column without gaps
    table = read_table(csv(frame.to_csv(index=False)))
    encoded = fit_encoding(frame)(frame)
    np.testing.assert_array_equal(table.values, encoded.table)
    assert table.notes == encoded.notes
    assert [each.name for each in table.filled] == ["b", "c", "d"]
    assert [each.gaps for each in table.filled] == np.isnan(values[:, 1:]).sum(0).tolist()
    np.testing.assert_allclose(
        [each.median for each in table.filled], frame[["b", "c", "d"]].median()
    )


def test_of_a_long_file_the_sample_fills_and_all_gaps_are_counted(csv, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 200)
    numbers = np.random.default_rng(1).normal(size=1000)
    cells = ["" if row % 4 == 0 else repr(x) for row, x in enumerate(numbers.tolist())]
    table = read_table(csv("x,y\n" + "".join(f"{c},1\n" for c in cells)), max_rows=50)
    there = table.rows[table.rows % 4 > 0]
    assert 0 < len(there) < 50
    (filled,) = table.filled
    assert (filled.name, filled.gaps) == ("x", 250)
    assert filled.median == pytest.approx(np.median(numbers[there]), abs=0)
    expected = np.where(table.rows % 4 == 0, filled.median, numbers[table.rows])
    np.testing.assert_array_equal(table.values[:, 0], expected)
    assert table.notes == (
        "missing values filled with the median of a sample of 50 rows: 'x' (250 values)",
    )


def test_a_column_without_a_value_in_the_sample_is_left_out(csv):
    text = "x,y\n" + "1,\n" * 500 + "1,7\n" + "1,\n" * 500
    table = read_table(csv(text), max_rows=3)
    assert table.names == ("x",)
    assert table.left_out == (LeftOut("y", "no values in the sample"),)
    with pytest.raises(SourceError, match="column 'y' has no values in the sample"):
        read_table(csv(text), Choice(columns=["y"]), max_rows=3)


def test_an_empty_column_is_left_out_unless_it_was_asked_for(csv):
    table = read_table(csv("x,y\n1,\n2,NA\n"))
    assert table.left_out == (LeftOut("y", "no values"),)
    assert table.filled == table.notes == ()
    with pytest.raises(SourceError, match="column 'y' has no values"):
        read_table(csv("x,y\n1,\n2,NA\n"), Choice(columns=["y"]))


def test_a_column_with_gaps_may_be_asked_for_and_excluded(csv):
    text = "x,y\n1,\n2,3\n"
    assert read_table(csv(text), Choice(columns=["y"])).values.tolist() == [[3], [3]]
    table = read_table(csv(text), Choice(exclude=["y"]))
    assert (table.names, table.filled) == (("x",), ())


def test_many_gaps_are_counted_for_people(csv):
    table = read_table(csv("x,y\n" + "1,\n" * 1234 + "1,2\n"))
    assert filled_notes(table) == ("missing values filled with the median: 'y' (1,234 values)",)
