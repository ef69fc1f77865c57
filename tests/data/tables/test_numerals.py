import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.data.tables.numerals import COMMA, POINT, UNAMBIGUOUS, weigh

WRITTEN = {
    "1.5": (1.5, None),
    "1,5": (None, 1.5),
    "1,234": (1234, 1.234),
    "1.234": (1.234, 1234),
    "1,234.50": (1234.5, None),
    "1.234,50": (None, 1234.5),
    "$1,234.50": (1234.5, None),
    "€ 3,50": (None, 3.5),
    "12 eur": (12, 12),
    "3.0%": (3, None),
    "3,0 %": (None, 3),
    "(1,200)": (-1200, -1.2),
    "($5)": (-5, -5),
    "-$5": (-5, -5),
    "$-5": (-5, -5),
    "\u22125": (-5, -5),
    "1 234,5": (None, 1234.5),
    "1\u202f234.5": (1234.5, None),
    "1'234.50": (1234.5, None),
    "12,34,567": (1234567, None),
    "1.234.567": (None, 1234567),
    "0,123": (None, 0.123),
    "1e3": (1000, 1000),
    ".5": (0.5, None),
}
NONE = ["", "-", "abc", "(5", "5)", "--5", "(-5)", "$5€", "1,2,3", "12.05.2024", "e5", "1 2", "$"]


@pytest.mark.parametrize("cell", [*WRITTEN, *NONE])
def test_numbers_are_read_as_they_are_written(cell):
    expected = WRITTEN.get(cell, (None, None))
    for numerals, value in zip((POINT, COMMA), expected, strict=True):
        assert numerals.parse(pl.Series([cell])).numbers.to_list() == [value]
        assert numerals.is_number(cell) == (value is not None)


@given(st.lists(st.text("0123456789.,-+()$€% e'", max_size=12), min_size=1, max_size=20))
def test_the_two_parsers_agree(cells):
    for numerals in (POINT, COMMA):
        text = [cell.strip() for cell in cells]
        found = numerals.parse(pl.Series(text, dtype=pl.String)).numbers
        assert [value is not None for value in found] == [numerals.is_number(c) for c in text]


@given(st.floats(-1e12, 1e12).map(lambda x: round(x, 2)))
def test_a_grouped_number_is_that_number(value):
    text = f"{value:,.2f}"
    swapped = text.translate(str.maketrans(",.", ".,"))
    assert POINT.parse(pl.Series([text])).numbers[0] == value
    assert COMMA.parse(pl.Series([swapped])).numbers[0] == value


def test_the_forms_are_told():
    cells = pl.Series(["$1", "2%", "(3)", "4,000"])
    assert POINT.parse(cells).kinds == (
        "currency",
        "percentages",
        "parentheses for negative numbers",
        "grouped thousands",
    )
    assert POINT.parse(pl.Series(["1", "x"])).kinds == ()


def test_plain_numbers_of_a_frame_are_parsed_at_once():
    frame = pl.DataFrame({"a": ["1,5", " 2 ", "1.5"], "b": ["1", None, "x"]})
    parsed = COMMA.parse_plain(frame)
    assert parsed["a"].to_list() == [1.5, 2, None]
    assert parsed["b"].to_list() == [1, None, None]


def test_evidence_for_a_decimal_sign():
    assert weigh(["1.5", "2,5", "1,234", "abc", "7", "1.234.567"]) == (1, 2, None, "1,234")


@given(st.from_regex(UNAMBIGUOUS, fullmatch=True, alphabet=st.characters(codec="ascii")))
def test_what_looks_unambiguous_is(cell):
    assert POINT.is_number(cell) == ("." in cell)
    assert COMMA.is_number(cell) == ("," in cell)
