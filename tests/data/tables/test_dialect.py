import csv
import io
import itertools
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from coterie.data.tables.delimited import Delimited
from coterie.data.tables.dialect import SEPARATORS, Stated, _long_records, records, sniff
from coterie.data.tables.survey import read_table
from coterie.data.tables.table import SourceError

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252")
NAMES = st.text("abcäöüß ,;|\t\"'é%€.", min_size=1, max_size=8).filter(
    lambda name: any(letter.isalpha() for letter in name)
)


def number(value, decimal, thousands):
    """A number with two decimals, in a notation."""
    text = f"{value:,.2f}" if thousands else f"{value:.2f}"
    return text.translate(str.maketrans(",.", ".," if decimal == "," else ",."))


@st.composite
def tables(draw):
    """Numbers (n, d), and names of their columns."""
    width, height = draw(st.integers(2, 5)), draw(st.integers(2, 12))
    numbers = st.integers(-(10**7), 10**7).map(lambda cents: cents / 100)
    rows = draw(
        st.lists(
            st.lists(numbers, min_size=width, max_size=width), min_size=height, max_size=height
        )
    )
    names = draw(st.lists(NAMES, min_size=width, max_size=width, unique=True))
    return names, np.array(rows)


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    table=tables(),
    separator=st.sampled_from(list(SEPARATORS)),
    decimal=st.sampled_from([".", ","]),
    thousands=st.booleans(),
    header=st.booleans(),
    ending=st.sampled_from(["\n", "\r\n"]),
)
def test_a_written_table_is_read_back(
    tmp_path, encoding, table, separator, decimal, thousands, header, ending
):
    names, values = table
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, lineterminator=ending)
    cells = [[number(value, decimal, thousands) for value in row] for row in values.tolist()]
    writer.writerows([names, *cells] if header else cells)
    path = tmp_path / "table.csv"
    path.write_bytes(text.getvalue().encode(encoding))
    source = Delimited(path, "it")
    found = source.dialect
    assert (found.separator, found.header) == (separator, header)
    assert found.numerals.decimal == decimal
    assert found.encoding == encoding or text.getvalue().isascii()
    assert source.columns == (
        tuple(names) if header else tuple(f"x{at + 1}" for at in range(len(names)))
    )
    table = read_table(source)
    kept = [source.columns.index(name) for name in table.names]
    np.testing.assert_array_equal(table.values, values[:, kept])


@pytest.mark.parametrize(
    ("text", "separator", "decimal", "header"),
    [
        ("a,b\n1,2\n", ",", ".", True),
        ("a;b\n1,5;2\n", ";", ",", True),
        ("1,5;2,5\n3,5;4,5\n", ";", ",", False),
        ("1,5\t2,5\n3,5\t4,5\n", "\t", ",", False),
        ("a|b\n1.5|2\n", "|", ".", True),
        ('"a;b","c"\n1;5,2\n', ",", ".", True),  # separators in quotes
        ('name;text\n1;"x, y, z"\n2;"u, v, w"\n', ";", ",", True),
        ("film,genre\n1,a|b\n2,c|d\n", ",", ".", True),
        ("Name, first;age\nDoe, Ann;34\nRoe, Bob;35\n", ";", ",", True),
        ("x\n1\n2\n", ",", ".", True),  # one column
        ("x\n1,5\n2,5\n", ";", ",", True),  # one column of decimal commas
        ("1.5\n2.5\n", ",", ".", False),
        ("a,b\n", ",", ".", True),  # a header alone
        ("1,2\n", ",", ".", False),
        ("Ann,3\nBob,4\n", ",", ".", False),
        ("who,age\nAnn,3\n", ",", ".", True),
        ("a,b\nx,y\n", ",", ".", True),  # nothing but text
        (",x\n0,1.5\n1,2.5\n", ",", ".", True),
        ("NA,1\n2,3\n", ",", ".", False),
        ("land,2019,2020,2021\nA,1.5,2.5,3.5\n", ",", ".", True),
        ("0,1,2\n0.5,1.5,2.5\n", ",", ".", True),  # as pandas names columns
        ("", ",", ".", True),
    ],
)
def test_the_dialect_is_found(text, separator, decimal, header):
    found = sniff(text.encode())
    assert (found.separator, found.numerals.decimal, found.header) == (separator, decimal, header)


def test_what_is_stated_is_taken():
    text = "1,5;2,5\n3,5;4,5\n".encode("utf-16")
    for separator, decimal, header in itertools.product(",;", ".,", (True, False)):
        found = sniff(text, Stated(separator, decimal, header, "utf-16"))
        assert found.separator == separator
        assert (found.numerals.decimal, found.header) == (decimal, header)
        assert found.remarks == ()


@pytest.mark.parametrize(
    ("text", "decimal", "remark"),
    [
        ("a;b\n1,234;5\n", ",", "'1,234' was read with a decimal comma"),
        ('a,b\n"1,234",5\n', ".", "'1,234' was read as thousands"),
        ("a;b\n1.234;5\n", ".", "'1.234' was read with a decimal point"),
        ("a;b\n1,5;5\n2,5;1.5\n", ",", "numbers with both decimal signs: the comma was assumed"),
        ("a;b\n1.5;5\n2.5;1,5\n", ".", "numbers with both decimal signs: the point was assumed"),
    ],
)
def test_what_is_ambiguous_is_said(text, decimal, remark):
    found = sniff(text.encode())
    assert found.numerals.decimal == decimal
    assert remark in found.remarks[0]
    assert "--decimal" in found.remarks[0]


@pytest.mark.parametrize("text", ["a;b\n1,234;5\n1,5;6\n", "a,b\n1.234,5\n", "a;b\n1;2\n"])
def test_what_is_not_ambiguous_is_not_remarked_on(text):
    assert sniff(text.encode()).remarks == ()


def test_a_dialect_in_words():
    assert sniff("a;ö\n1,5;2\n".encode("cp1252")).sentence() == (
        "separated by semicolons, decimal comma, header, Windows-1252"
    )
    assert sniff(b"1\n2\n").sentence() == "one column, no header, UTF-8"
    assert sniff(b"a:b\n1:2\n", Stated(":")).sentence() == "separated by ':', header, UTF-8"


def test_a_record_that_is_cut_off_is_not_counted():
    text = "a,b\n1,2\n3"
    assert len(records(text, ",")) == 3
    assert records(text, ",", is_whole=False) == [["a", "b"], ["1", "2"]]


@given(st.text('ab,;"\n\r', max_size=30), st.sampled_from(",;"))
def test_records_of_long_cells_are_those_of_the_standard_library(text, separator):
    assume(not re.search("\r(?!\n)", text))  # which ends a record there only at times
    standard = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        expected = [record for record in standard if record]
    except csv.Error:
        return
    assert [record for record in _long_records(text, separator) if record] == expected


def test_a_cell_may_be_longer_than_the_standard_library_allows():
    long = "x" * 200_000
    assert records(f'{long},"{long},""y"""\n1,2\n', ",") == [[long, f'{long},"y"'], ["1", "2"]]


def test_what_cannot_be_stated_is_refused():
    with pytest.raises(SourceError, match="the separator must be one character"):
        Stated(separator="::")
    with pytest.raises(SourceError, match=r"the decimal sign must be \. or ,"):
        Stated(decimal="x")
