import sys

import numpy as np
import pytest
from scipy.stats import chisquare

from coterie.data.tables import delimited
from coterie.data.tables.columns import Choice
from coterie.data.tables.files import opened
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


def test_a_column_that_was_asked_for_must_be_numbers(csv, tmp_path):
    with pytest.raises(SourceError, match="column 'who' has text, 'Ann' in row 1") as info:
        read_table(csv("x,who\n1,Ann\n"), Choice(columns=["who"]))
    assert str(info.value).startswith(str(tmp_path))


def test_without_numbers_the_reasons_are_told(csv):
    with pytest.raises(SourceError) as info:
        read_table(csv("x:y\n1:2\n"))
    assert "has no numeric column ('x:y': text, '1:2' in row 1)" in str(info.value)
    assert "--sep" in str(info.value)


def test_nameless_row_numbers_of_a_file_are_left_out(csv):
    table = read_table(csv(",number,x\n0,5,1.5\n1,6,0.5\n2,7,9\n"))
    assert table.names == ("x",)
    assert table.left_out == (
        LeftOut("", "identifies the rows: row numbers without a name"),
        LeftOut("number", "identifies the rows, by its name: distinct integers"),
    )


def test_a_nameless_column_of_measurements_is_used(csv):
    assert read_table(csv(",x\n4,1\n2,2\n")).names == ("", "x")


def test_an_identifier_is_left_out_with_a_note_unless_it_is_asked_for(csv):
    text = "number,x\n5,1.5\n6,0.5\n7,9\n"
    table = read_table(csv(text))
    assert (table.names, [left.name for left in table.left_out]) == (("x",), ["number"])
    (note,) = table.notes
    assert note.startswith("columns that identify the rows are left out, unless --columns names")
    asked = read_table(csv(text), Choice(columns=["number", "x"]))
    assert (asked.names, asked.notes) == (("number", "x"), ())


def test_constants_are_left_out_and_identifiers_stay_where_there_is_nothing_else(csv):
    table = read_table(csv("x,one\n1.5,1\n0.5,1\n9,1\n"))
    assert (table.names, table.left_out) == (("x",), (LeftOut("one", "constant"),))
    assert read_table(csv("id,one\n1,1\n2,1\n3,1\n")).names == ("id",)
    assert read_table(csv("one,two\n1,2\n1,2\n")).names == ("one", "two")


def test_arrays_are_taken_as_they_are(tmp_path):
    np.save(tmp_path / "a.npy", np.column_stack([np.arange(50), np.ones(50)]))
    with opened(tmp_path / "a.npy") as source:
        table = read_table(source, Choice(encode=True))
    assert (table.names, table.left_out, table.notes) == (("x1", "x2"), (), ())


def test_text_becomes_categories_where_the_choice_says_so(csv):
    text = "x,town,who\n" + "".join(
        f"{row * row / 7},{('Ulm', 'Bonn', '')[row % 3]},p{row}\n" for row in range(60)
    )
    table = read_table(csv(text), Choice(encode=True))
    assert table.names == ("x", "town=Bonn", "town=Ulm")
    assert table.columns == ("x", "town")
    assert table.left_out == (
        LeftOut("who", "text, 'p0' in row 1, 60 different values in 60 rows"),
    )
    assert table.left_out[0].is_text
    assert "missing values encoded as no category: 'town' (20 values)" in table.notes
    assert (table.values[:3, 1:] > 0).tolist() == [[False, True], [True, False], [False, False]]
    plain = read_table(csv(text))
    assert plain.names == ("x",)
    assert plain.left_out[0].reason == "text, 'Ulm' in row 1"


def test_numbers_that_end_in_text_are_read_again_as_categories(csv, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 40)
    text = "x,grade\n" + "1.5,01\n2.25,1\n" * 30 + "1,late\n" * 3 + "1,2\n" * 30
    table = read_table(csv(text), Choice(encode=True))
    assert table.encoding.categories == {"grade": ("01", "1", "2", "late")}


def test_numbers_may_be_called_categories(csv):
    text = "x,zone\n" + "".join(f"{row / 7},{row % 4}\n" for row in range(40))
    assert read_table(csv(text), Choice(encode=True)).names == ("x", "zone")
    table = read_table(csv(text), Choice(categorical=["zone"], encode=True))
    assert table.names == ("x", "zone=0", "zone=1", "zone=2", "zone=3")
    with pytest.raises(SourceError, match="'zone' is both selected and excluded"):
        read_table(csv(text), Choice(categorical=["zone"], exclude=["zone"]))


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


def test_currency_and_percent_are_numbers_and_said(csv):
    table = read_table(csv('price,rate,loss,x\n"$1,234.50",3.0%,(5),1\n$2,4%,7,2\n'))
    np.testing.assert_array_equal(table.values, [[1234.5, 3, -5, 1], [2, 4, 7, 2]])
    assert table.notes[0] == (
        "read as numbers: 'price' (currency, grouped thousands), 'rate' (percentages),"
        " 'loss' (parentheses for negative numbers)"
    )


def test_a_european_file_is_numbers(csv):
    text = "Preis;Anteil;x\n€ 3,50;1,5 %;1.234,5\n1.000,00 €;2,5 %;2\n"
    table = read_table(csv(text.encode("cp1252")))
    np.testing.assert_array_equal(table.values, [[3.5, 1.5, 1234.5], [1000, 2.5, 2]])


def test_what_could_be_read_in_two_ways_is_said(csv):
    table = read_table(csv("x;y\n1,234;1\n2,345;2\n"))
    assert table.values[0, 0] == 1.234
    assert "'1,234' was read with a decimal comma; if wrong: --decimal '.'" in table.notes
    table = read_table(csv('x,y\n"1,234",1\n"2,345",2\n'))
    assert table.values[0, 0] == 1234
    assert "'1,234' was read as thousands; if wrong: --decimal ','" in table.notes
    stated = read_table(csv("x;y\n1,234;1\n", decimal="."))
    assert stated.values[0, 0] == 1234
