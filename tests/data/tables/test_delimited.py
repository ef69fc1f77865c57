import csv as standard_csv
import os

import numpy as np
import pytest

from coterie.data.tables import delimited, dialect, scan
from coterie.data.tables.columns import Choice
from coterie.data.tables.delimited import Delimited
from coterie.data.tables.survey import read_table
from coterie.data.tables.table import SourceError
from coterie.frames.table_columns import distinct


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
        ("x\n1,2,3\n", "cannot be read as a table: Row #2: Expected 1 columns, got 3"),
        ("x,y\n1,2\n3\n", "cannot be read as a table: Row #3: Expected 2 columns, got 1"),
        (b"\xff\xfex\x00\n\x00", "has a header but no rows"),
        (b"\x00\x01\x00\x00\x05", "is not text and in no known format"),
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


def test_text_in_an_encoding_that_was_stated_wrongly_is_refused(csv):
    with pytest.raises(SourceError, match="is not UTF-8 text; set its encoding"):
        cells(csv(b"x,y\n1,caf\xe9\n", encoding="utf-8"))


@pytest.mark.parametrize("name", ["caf\xe9,y\n1,2\n", "x,y\n1,caf\xe9\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_the_encoding_is_found_and_written_back(csv, tmp_path, name, encoding):
    source = csv(name.encode(encoding))
    header, row = name.splitlines()
    assert list(source.columns) == header.split(",")
    assert cells(source) == [row.split(",")]
    copy(source, tmp_path / "out.csv", [0], [1.0])
    assert (tmp_path / "out.csv").read_text(encoding=encoding).splitlines()[1].startswith(row)


def test_a_character_far_down_the_file_disproves_utf8(csv, monkeypatch):
    monkeypatch.setattr(scan, "HEAD_BYTES", 64)
    source = csv(b"x,y\n" + b"1,2\n" * 100 + b"1,caf\xe9\n")
    assert source.dialect.encoding == "cp1252"
    assert cells(source)[-1] == ["1", "caf\xe9"]


def test_an_unclosed_quote_is_refused_with_its_line(csv):
    rows = [f'"row{at}",{at}' for at in range(100)]
    whole = csv("name,x\n" + "\n".join(rows) + "\n")
    assert len(cells(whole)) == 100
    text = "name,x\n" + "\n".join([*rows[:49], '"row49,49', *rows[50:]]) + "\n"
    with pytest.raises(SourceError, match=r"opens a cell in line 51 is never closed"):
        cells(csv(text))
    text = "name,x\n" + "1,2\n" * 49 + '"row49,3\n' + "1,2\n" * 50
    with pytest.raises(SourceError, match=r"opens a cell in line 51 is never closed"):
        csv(text.encode("utf-16"))


def test_a_header_longer_than_a_block_is_read(csv, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 64)
    names = ["a" * 100, "b" * 100]
    source = csv(",".join(names) + "\n1,2\n")
    assert source.columns == tuple(names)
    assert cells(source) == [["1", "2"]]


def test_too_many_columns_are_refused_before_they_are_parsed(csv, monkeypatch):
    csv(",".join("abc") + "\n1,2,3\n", max_columns=3)
    with pytest.raises(SourceError, match="has 4 columns; at most 3 can be read"):
        csv(",".join("abcd") + "\n1,2,3,4\n", max_columns=3)
    monkeypatch.setattr(dialect, "records", lambda *_, **__: 1 / 0)
    with pytest.raises(SourceError, match="has 100 columns; at most 3 can be read"):
        csv(",".join(["c"] * 100) + "\n", max_columns=3)


def test_decimal_commas_are_written_back_and_used_for_the_confidence(csv, tmp_path):
    copy(csv("a;b\n1,5;x\n2,5;y\n"), tmp_path / "out.csv", [0, 1], [1.0, 0.25])
    assert (tmp_path / "out.csv").read_text() == (
        "a;b;cluster;confidence\n1,5;x;0;1,000000\n2,5;y;1;0,250000\n"
    )


def test_without_a_header_columns_are_numbered(csv, tmp_path):
    source = csv("1,2\n3,4\n")
    assert source.columns == ("x1", "x2")
    assert cells(source) == [["1", "2"], ["3", "4"]]
    assert csv("1,2\n3,4\n", header=True).columns == ("1", "2")
    assert csv("a,b\n3,4\n", header=False).columns == ("x1", "x2")


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


class Counted(str):
    """A name that counts how often names are compared."""

    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.mark.parametrize("name", ["c", "c{at}", "c_{at}"])
def test_names_are_made_distinct_in_linear_time(name):
    Counted.compared = 0
    names = [Counted(name.format(at=at)) for at in range(2000)]
    assert len(set(distinct(names))) == 2000
    assert Counted.compared < 20_000


def test_names_that_look_like_numbered_duplicates_stay_distinct():
    assert distinct(["a", "a_2", "a", "a", "a_2"]) == ("a", "a_2", "a_3", "a_4", "a_2_2")


def test_a_file_name_need_not_be_utf8(write):
    path = write("x\n1\n")
    odd = path.with_name(os.fsdecode(b"caf\xe9.csv"))
    path.rename(odd)
    assert cells(Delimited(odd, "it")) == [["1"]]


@pytest.mark.parametrize("name", ["^x$", "*", "^.*$"])
def test_a_name_may_look_like_a_pattern(csv, name):
    assert cells(csv(f"{name},x\n1,2\n,\n3,4\n")) == [["1", "2"], [None, None], ["3", "4"]]
    table = read_table(csv(f"{name},x\n0,2\ntrue,4\n1,7\n"))
    assert table.values.tolist() == [[0, 2], [1, 4], [1, 7]]
    encoded = read_table(csv(f"{name},x\n" + "a,2\nb,5\n" * 9), Choice(encode=True))
    assert encoded.values.shape == (18, 3)


def test_a_header_of_a_million_characters_is_read(csv):
    assert csv("x" * 1_000_001 + "\n1\n").columns == ("x" * 1_000_001,)


def test_formulas_are_written_as_text_unless_they_are_kept(csv, tmp_path):
    source, target = csv("x,who\n-1,=2+3\n+2,-\n"), tmp_path / "out.csv"
    copy(source, target, [0, 1], [1.0, 1.0])
    assert target.read_text().splitlines()[1:] == ["-1,'=2+3,0,1.000000", "+2,-,1,1.000000"]
    with source.writer(target, keep_formulas=True) as writer:
        for batch in source.batches():
            writer.write(batch, np.array([0, 1]), np.array([1.0, 1.0]))
    assert target.read_text().splitlines()[1] == "-1,=2+3,0,1.000000"
