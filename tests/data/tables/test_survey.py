import sys

import numpy as np
import pytest
from scipy.stats import chisquare

from coterie.data.tables import delimited
from coterie.data.tables.columns import Choice
from coterie.data.tables.survey import Reservoir, read_rows, read_table
from coterie.data.tables.table import LeftOut, SourceError


def test_numbers_are_read_and_text_is_left_out_with_its_place(csv):
    table = read_table(csv('x,who,y\n1,7,-2.5\n" 3",Ann,1e3\n'))
    assert table.names == ("x", "y")
    assert table.values.dtype == np.float64
    np.testing.assert_array_equal(table.values, [[1, -2.5], [3, 1000]])
    assert table.left_out == (LeftOut("who", "text, 'Ann' in row 2"),)
    assert (table.n_rows, table.is_sample) == (2, False)


def test_decimals_are_read_to_the_last_digit(csv):
    values = np.random.default_rng(0).normal(size=(50, 1)) * 1e-7
    text = "x\n" + "\n".join(repr(float(value)) for value in values[:, 0]) + "\n"
    np.testing.assert_array_equal(read_table(csv(text)).values, values)


def test_text_that_turns_up_late_takes_the_column_out(csv, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 40)
    text = "x,y\n" + "1,2\n" * 30 + "1,late\n" + "1,2\n" * 30
    table = read_table(csv(text))
    assert table.names == ("x",)
    assert table.left_out == (LeftOut("y", "text, 'late' in row 31"),)
    assert table.values.shape == (61, 1)


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e400"])
def test_an_infinite_value_is_refused_with_its_place(csv, tmp_path, cell):
    with pytest.raises(SourceError, match=r"an infinite value in row 3, .* column 'x';") as info:
        read_table(csv(f"x\n1\n2\n{cell}\n"))
    assert "counted without the header" in str(info.value)
    assert str(tmp_path) in str(info.value)


def test_the_first_of_several_infinite_values_is_named_and_the_rest_counted(csv):
    with pytest.raises(SourceError, match=r"row 1, .*column 'y', and 2 more"):
        read_table(csv("x,y\n1,inf\ninf,2\n-inf,\n"))


def test_a_column_with_infinite_values_may_be_excluded(csv):
    table = read_table(csv("x,y\n1,inf\n2,3\n"), Choice(exclude=["y"]))
    assert table.names == ("x",)


def test_a_column_that_was_asked_for_must_be_numbers(csv):
    with pytest.raises(SourceError, match="column 'who' has text, 'Ann' in row 1") as info:
        read_table(csv("x,who\n1,Ann\n"), Choice(columns=["who"]))
    assert "data frames may have categories" in str(info.value)


def test_without_numbers_the_reasons_are_told(csv):
    with pytest.raises(SourceError) as info:
        read_table(csv("x;y\n1;2\n"))
    assert "has no numeric column ('x;y': text, '1;2' in row 1)" in str(info.value)
    assert "--sep" in str(info.value)


def test_nameless_row_numbers_of_a_file_are_left_out(csv):
    table = read_table(csv(",number,x\n0,5,1.5\n1,6,0.5\n2,7,9\n"))
    assert table.names == ("number", "x")
    assert table.left_out == (LeftOut("", "unnamed row numbers"),)


def test_a_nameless_column_of_measurements_is_used(csv):
    assert read_table(csv(",x\n4,1\n2,2\n")).names == ("", "x")


def test_a_named_column_that_counts_is_used_with_a_note(csv):
    table = read_table(csv("number,x\n5,1.5\n6,0.5\n7,9\n"))
    assert table.names == ("number", "x")
    assert table.notes == ("column 'number' looks like a row number; if it is, use --id 'number'",)


def test_a_long_file_is_sampled_in_one_pass(csv, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 200)
    values = np.random.default_rng(1).normal(size=1000)
    source = csv("x\n" + "\n".join(map(repr, values.tolist())) + "\n")
    table = read_table(source, max_rows=50, seed=3)
    assert (table.n_rows, len(table.values), table.is_sample) == (1000, 50, True)
    assert (np.diff(table.rows) > 0).all()
    np.testing.assert_array_equal(table.values[:, 0], values[table.rows])
    np.testing.assert_array_equal(read_table(source, max_rows=50, seed=3).rows, table.rows)
    assert not np.array_equal(read_table(source, max_rows=50, seed=4).rows, table.rows)


def test_infinite_values_are_refused_in_rows_that_were_not_drawn(csv):
    text = "x\n" + "1\n" * 500 + "inf\n"
    with pytest.raises(SourceError, match="row 501"):
        read_table(csv(text), max_rows=2)


@pytest.mark.parametrize("batch", [1, 7, 100])
def test_each_row_has_the_same_chance(batch):
    counts = np.zeros(100)
    for seed in range(400):
        reservoir = Reservoir(10, 1, np.random.default_rng(seed))
        for start in range(0, 100, batch):
            reservoir.add(np.arange(start, min(100, start + batch))[:, None].astype(float))
        rows, values = reservoir.drawn()
        np.testing.assert_array_equal(rows, values[:, 0])
        assert len(set(rows)) == 10
        counts[rows] += 1
    assert chisquare(counts).pvalue > 1e-3


def test_progress_is_told_to_the_end(csv):
    shares = []
    read_table(csv("x\n1\n2\n"), progress=shares.append)
    assert shares[-1] == 1


def test_some_cells_are_read_in_the_order_asked_for(csv, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 50)
    source = csv("n,who\n" + "".join(f"{i},p{i}\n" for i in range(100)) + "100,\n")
    rows = np.array([99, 0, 100, 7])
    assert read_rows(source, ["who"], rows) == {"who": ["p99", "p0", "", "p7"]}
    assert read_rows(source, [], rows) == {}


@pytest.mark.parametrize("module", ["polars", "pyarrow"])
def test_without_a_library_the_extra_is_named(csv, monkeypatch, module):
    source = csv("x\n1\n")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match=r"coterie\[io\]"):
        read_table(source)
