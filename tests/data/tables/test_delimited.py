import csv as standard_csv

import numpy as np
import pytest

from coterie.data.tables import delimited
from coterie.data.tables.delimited import Delimited
from coterie.data.tables.table import SourceError


def cells(source):
    """All rows of a source, as lists of text."""
    return [list(row) for batch in source.batches() for row in batch.frame.iter_rows()]


def copy(source, target, labels, confidence):
    with source.writer(target) as writer:
        start = 0
        for batch in source.batches():
            rows = slice(start, start + len(batch.frame))
            writer.write(batch, np.asarray(labels)[rows], np.asarray(confidence)[rows])
            start = rows.stop


def test_cells_are_text_as_it_stands(csv):
    source = csv('x,who\n1.50,"Smith, Ann"\n007,\n')
    assert source.columns == ("x", "who")
    assert cells(source) == [["1.50", "Smith, Ann"], ["007", None]]


@pytest.mark.parametrize("suffix", ["tsv", "TAB"])
def test_the_suffix_says_that_tabs_separate(csv, suffix):
    assert cells(csv("x\ty\n1\t2\n", f"table.{suffix}")) == [["1", "2"]]


def test_the_separator_may_be_given(csv):
    source = csv("x;y\n1;2\n", separator=";")
    assert source.columns == ("x", "y")


@pytest.mark.parametrize("ending", ["", "\n", "\n\n\n", "\r\n\r\n", "\n,\n", "\n,\n,\n"])
def test_blank_lines_at_the_end_are_no_rows(csv, ending):
    assert cells(csv("x,y\n1,2\n3,4" + ending)) == [["1", "2"], ["3", "4"]]


def test_blank_rows_between_others_stay_even_where_a_block_ends(csv, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 16)
    text = "x,y\n" + "1,2\n,\n,\n" * 20 + "3,4\n,\n"
    rows = cells(csv(text))
    assert rows == [["1", "2"], [None, None], [None, None]] * 20 + [["3", "4"]]


def test_rows_come_in_blocks_that_cut_nothing_in_two(csv, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 64)
    lines = [[str(i), f"line\nof {i}, and more"] for i in range(50)]
    text = "n,text\n" + "".join(f'{n},"{t}"\n' for n, t in lines)
    source = csv(text)
    assert len(list(source.batches())) > 5
    assert cells(source) == lines
    shares = [batch.share for batch in source.batches()]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_a_byte_order_mark_is_no_part_of_the_first_name(csv):
    assert csv(b"\xef\xbb\xbfx\n1\n").columns == ("x",)


def test_names_that_stand_there_twice_get_numbers(csv):
    assert csv("x,x,,\n1,2,3,4\n").columns == ("x", "x_2", "", "_2")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("x,y\n", "has a header but no rows"),
        ("x,y\n\n\n", "has a header but no rows"),
        ("1,2\n3,4\n", "has no header; its first row must name the columns"),
        ("x\n1,2,3\n", "cannot be read as a table: Row #2: Expected 1 columns, got 3"),
        ("x,y\n1,2\n3\n", "cannot be read as a table: Row #3: Expected 2 columns, got 1"),
        (b"x,y\n1,caf\xe9\n", "is not UTF-8 text; set its encoding, as in --encoding latin-1"),
        (b"caf\xe9,y\n1,2\n", "is not UTF-8 text; set its encoding"),
        (b"\xff\xfex\x00\n\x00", "is UTF-16 text; use --encoding utf-16"),
    ],
)
def test_what_is_no_table_is_refused_by_name(csv, tmp_path, text, complaint):
    with pytest.raises(SourceError) as info:
        cells(csv(text))
    assert f"{tmp_path / 'table.csv'} {complaint}" in str(info.value)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
def test_an_encoding_is_read_and_written_back(csv, tmp_path, encoding):
    source = csv("x,nom\n1,café\n2,été\n".encode(encoding), encoding=encoding)
    assert cells(source) == [["1", "café"], ["2", "été"]]
    target = tmp_path / "labels.csv"
    copy(source, target, [0, 1], [1.0, 0.5])
    with target.open(encoding=encoding, newline="") as file:
        assert list(standard_csv.reader(file))[1] == ["1", "café", "0", "1.000000"]


def test_an_encoding_that_nobody_knows_is_refused(csv):
    with pytest.raises(SourceError, match="unknown encoding 'martian'"):
        csv("x\n1\n", encoding="martian")


def test_text_that_is_not_of_the_encoding_is_refused(csv):
    with pytest.raises(SourceError, match="not ascii text"):
        cells(csv("x,y\n1,é\n", encoding="ascii"))


def test_rows_are_written_as_they_were_read_with_two_columns_more(csv, tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 20)
    target = tmp_path / "labels.csv"
    copy(csv('x,who\n1.50,"Smith, Ann"\n007,\n\n'), target, [1, 0], [0.25, 1.0])
    assert target.read_text() == (
        'x,who,cluster,confidence\n1.50,"Smith, Ann",1,0.250000\n007,,0,1.000000\n'
    )


def test_the_target_decides_its_separator_unless_one_was_given(csv, tmp_path):
    target = tmp_path / "labels.tsv"
    copy(csv("x,y\n1,2\n"), target, [0], [1.0])
    assert target.read_text().splitlines()[0] == "x\ty\tcluster\tconfidence"
    copy(csv("x;y\n1;2\n", separator=";"), target, [0], [1.0])
    assert target.read_text().splitlines()[0] == "x;y;cluster;confidence"


def test_a_name_with_wildcards_is_one_file(write):
    write("x\n1\n", "a.csv")
    assert cells(Delimited(write("x\n2\n", "[ab]*.csv"), "it")) == [["2"]]
