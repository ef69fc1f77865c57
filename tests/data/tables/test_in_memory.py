import sys

import polars as pl
import pytest

from coterie.data.tables.files import opened
from coterie.data.tables.survey import read_table
from coterie.data.tables.table import SourceError


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('[{"x": 1, "who": "a"}, {"x": 2.5, "who": null}]', "t.json"),
        ('  [\n {"x": 1,\n "who": "a"},\n {"x": 2.5}]', "t"),
        ('{"x": 1, "who": "a"}\n\n{"x": 2.5}\n', "t.jsonl"),
        ('{"x": 1, "who": "a"}\n{"x": 2.5}', "t"),
        ('{"x": [1, 2.5], "who": ["a", null]}', "t.json"),
        ('{"customers": [{"x": 1, "who": "a"}, {"x": 2.5}]}', "t.json"),
        ('{"x": ["$1", "2.5"],\n "who": ["a", null]}', "t.json"),
    ],
)
def test_json_is_read_in_the_forms_that_people_write(write, text, name):
    with opened(write(text, name)) as source:
        assert source.columns == ("x", "who")
        assert read_table(source).values.tolist() == [[1], [2.5]]


def test_nested_values_are_left_out(write):
    records = (
        '[{"x": 1, "home": {"zip": "1"}, "tags": [1]}, {"x": 2, "home": {"zip": "2"}, "tags": []}]'
    )
    with opened(write(records, "t.json")) as source:
        table = read_table(source)
    assert dict(table.left_out) == {"home": "nested values", "tags": "nested values"}


def test_columns_of_different_lengths_are_refused(write):
    with (
        pytest.raises(SourceError, match="has columns of different lengths"),
        opened(write('{"x": [1, 2], "y": [1]}', "t.json")),
    ):
        pass


@pytest.fixture
def book(tmp_path):
    """A workbook of two sheets."""
    xlsxwriter = pytest.importorskip("xlsxwriter")
    path = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(path) as workbook:
        first = {"x": [1.5, 2.5], "price": ["$1,000", "$2"], "day": ["a", "b"]}
        pl.DataFrame(first).write_excel(workbook, "first")
        pl.DataFrame({"z": [7, 8, 9]}).write_excel(workbook, "second sheet")
    return path


def test_a_sheet_is_read(book):
    with opened(book) as source:
        table = read_table(source)
        assert source.columns == ("x", "price", "day")
        assert table.values.tolist() == [[1.5, 1000], [2.5, 2]]
    with opened(book, array="second sheet") as source:
        assert read_table(source).values.tolist() == [[7], [8], [9]]


def test_sheets_that_are_not_there_and_damaged_books_are_refused(book):
    with (
        pytest.raises(SourceError, match="has no sheet 'z'; it has 'first', 'second sheet'"),
        opened(book, array="z"),
    ):
        pass
    whole = book.read_bytes()
    for content in (whole[:-200], whole[:300], b"\xd0\xcf\x11\xe0" + b"x" * 600):
        book.write_bytes(content)
        with pytest.raises(SourceError, match=r"book\.xlsx "), opened(book):
            pass


def test_without_the_library_the_extra_is_named(book, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(ModuleNotFoundError, match=r"coterie\[excel\]"), opened(book):
        pass
