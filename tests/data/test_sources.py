import sys

import numpy as np
import pytest

from coterie.data.sources import (
    LeftOut,
    SourceError,
    Table,
    read_table,
    refuse_labelled,
    write_labelled,
)


@pytest.fixture
def write(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_numbers_are_read_and_text_is_left_out_with_its_place(write):
    table = read_table(write('x,who,y\n1,7,-2.5\n" 3",Ann,1e3\n'))
    assert table.names == ("x", "y")
    assert table.values.dtype == np.float64
    np.testing.assert_array_equal(table.values, [[1, -2.5], [3, 1000]])
    assert table.left_out == (LeftOut("who", "text, 'Ann' in row 2"),)
    assert table.n_rows == 2


def test_decimals_are_read_to_the_last_digit(write):
    values = np.random.default_rng(0).normal(size=(50, 1)) * 1e-7
    text = "x\n" + "\n".join(repr(float(value)) for value in values[:, 0]) + "\n"
    np.testing.assert_array_equal(read_table(write(text)).values, values)


@pytest.mark.parametrize("suffix", ["tsv", "TAB"])
def test_the_suffix_says_that_tabs_separate(write, suffix):
    table = read_table(write("x\ty\n1\t2\n", f"table.{suffix}"))
    np.testing.assert_array_equal(table.values, [[1, 2]])


def test_booleans_are_ones_and_zeros(write):
    table = read_table(write("flag\nTrue\nfalse\nTRUE\n"))
    np.testing.assert_array_equal(table.values[:, 0], [1, 0, 1])


def test_a_column_without_values_is_left_out(write):
    table = read_table(write("x,empty\n1,\n2,NA\n"))
    assert table.left_out == (LeftOut("empty", "no values"),)


def test_nameless_row_numbers_are_left_out_and_named_ones_are_not(write):
    table = read_table(write(",number,x\n0,5,1.5\n1,6,0.5\n2,7,9\n"))
    assert table.names == ("number", "x")
    assert table.left_out == (LeftOut("", "row numbers without a name"),)


def test_a_nameless_column_of_measurements_is_used(write):
    assert read_table(write(",x\n4,1\n2,2\n")).names == ("", "x")


@pytest.mark.parametrize("ending", ["", "\n", "\n\n\n", "\r\n\r\n", "\n,\n"])
def test_blank_lines_at_the_end_are_no_rows(write, ending):
    assert read_table(write("x,y\n1,2\n3,4" + ending)).n_rows == 2


def test_a_byte_order_mark_is_no_part_of_the_first_name(write):
    assert read_table(write(b"\xef\xbb\xbfx\n1\n")).names == ("x",)


def test_a_name_with_wildcards_is_one_file(write):
    write("x\n1\n", "a.csv")
    assert read_table(write("x\n2\n", "[ab]*.csv")).values.item() == 2


@pytest.mark.parametrize("cell", ["", "NA", "nan", "NaN", "null", "?", " n/a "])
def test_a_missing_value_is_refused_with_its_place(write, cell):
    path = write(f"x,y\n1,2\n3,{cell}\n5,6\n")
    with pytest.raises(SourceError, match="no value in row 2, counted without the header") as info:
        read_table(path)
    assert "column 'y'" in str(info.value)
    assert str(path) in str(info.value)


def test_the_first_of_several_holes_is_named_and_the_rest_counted(write):
    with pytest.raises(SourceError, match=r"row 1, .*column 'y'; 2 more like it"):
        read_table(write("x,y\n1,\n,2\n,3\n"))


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e400"])
def test_an_infinite_value_is_refused_with_its_place(write, cell):
    with pytest.raises(SourceError, match=r"an infinite value in row 3, .* column 'x'$"):
        read_table(write(f"x\n1\n2\n{cell}\n"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("x,y\n", "has a header but no rows"),
        ("x,y\n\n\n", "has a header but no rows"),
        ("1,2\n3,4\n", "starts with numbers; its first row must name the columns"),
        ("x;y\n1;2\n", "has no column of numbers ('x;y': text, '1;2' in row 1)"),
        ("x\n1,2,3\n", "cannot be read as a table"),
        (b"x\n\xff\xfe\n", "cannot be read as a table"),
    ],
)
def test_what_is_no_table_is_refused_by_name(write, text, complaint):
    path = write(text)
    with pytest.raises(SourceError) as info:
        read_table(path)
    assert f"{path} {complaint}" in str(info.value)


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path):
    with pytest.raises(SourceError, match=r"no file .*absent\.csv"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(SourceError, match="is a folder"):
        read_table(tmp_path)


def test_without_polars_the_extra_is_named(write, monkeypatch):
    path = write("x\n1\n")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match=r"coterie\[io\]"):
        read_table(path)


def test_rows_are_written_as_they_were_read_with_two_columns_more(write, tmp_path):
    path = write('x,who\n1.50,"Smith, Ann"\n007,\n\n')
    target = tmp_path / "new" / "folder" / "labels.csv"
    write_labelled(path, target, np.array([1, 0]), np.array([0.25, 1.0]))
    assert target.read_text() == (
        'x,who,cluster,confidence\n1.50,"Smith, Ann",1,0.250000\n007,,0,1.000000\n'
    )


def test_the_suffix_of_the_target_decides_its_separator(write, tmp_path):
    target = tmp_path / "labels.tsv"
    write_labelled(write("x,y\n1,2\n"), target, np.array([0]), np.array([1.0]))
    assert target.read_text().splitlines()[0] == "x\ty\tcluster\tconfidence"


@pytest.mark.parametrize("name", ["cluster", "confidence"])
def test_columns_of_the_input_are_not_overwritten(name):
    values = np.zeros((1, 1))
    with pytest.raises(SourceError, match=f"already has a column '{name}'"):
        refuse_labelled("t.csv", Table((name,), values))
    with pytest.raises(SourceError, match=f"already has a column '{name}'"):
        refuse_labelled("t.csv", Table(("x",), values, (LeftOut(name, "text"),)))
    refuse_labelled("t.csv", Table(("x",), values))
