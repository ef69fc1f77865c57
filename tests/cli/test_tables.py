import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from coterie.cli.tables import ShownColumn, pieces, show_tables

HEADER = ["method", "ARI", "seconds"]
ROWS = [["DAC [red]", "0.98 ± 0.01", "0.1, 0.2"], ["k-means", "-0.50", ""]]
WIDE = ["setting", "method", *(f"metric {number}" for number in range(6))]
WIDE_ROWS = [["(1000, 4)", "DAC", *["0.983 ± 0.014"] * 6], ["", "k-means", *["0.5"] * 6]]


@pytest.mark.parametrize(
    ("cells", "numeric"),
    [
        (["0.98 ± 0.01", "-0.50", ""], True),
        (["0.1, 0.2"], True),
        (["1e-3", "nan", "  "], True),
        (["0.98", "n/a"], False),
        (["(1000, 4)"], False),
    ],
)
def test_a_column_is_numeric_where_every_cell_starts_with_a_number(cells, numeric):
    assert ShownColumn("name", cells).is_numeric == numeric


def test_a_column_is_as_wide_as_its_widest_text_and_the_space_around():
    assert ShownColumn("a long name", ["1", "22"]).width == len("a long name") + 3
    assert ShownColumn("a", ["22", "漢字"]).width == 4 + 3  # two cells each


def test_a_table_that_fits_stays_whole():
    (whole,) = pieces(HEADER, ROWS, 80)
    assert [column.name for column in whole] == HEADER
    assert [[*cells] for cells in zip(*(column.cells for column in whole), strict=True)] == ROWS


def test_a_wide_table_is_cut_and_every_piece_names_its_rows():
    cut = pieces(WIDE, WIDE_ROWS, 80)
    assert len(cut) > 1
    for piece in cut:
        assert [column.name for column in piece[:2]] == WIDE[:2]
        assert sum(cell_len(column.cells[0]) + 3 for column in piece) < 80
    assert [column.name for piece in cut for column in piece[2:]] == WIDE[2:]


def test_a_column_wider_than_the_terminal_gets_a_piece_and_no_endless_cut():
    cut = pieces(["method", "a", "b"], [["DAC", "1" * 90, "2"]], 80)
    assert [[column.name for column in piece] for piece in cut] == [
        ["method", "a"],
        ["method", "b"],
    ]


def test_a_table_without_numbers_is_one_piece():
    (whole,) = pieces(["method", "details"], [["DAC", "x" * 100]], 80)
    assert [column.name for column in whole] == ["method", "details"]


def shown(tables, width):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    show_tables(tables, console)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 200])
def test_every_cell_is_shown_whole_in_lines_that_fit(width):
    lines = shown([("wide [table]", WIDE, WIDE_ROWS), ("second", HEADER, ROWS)], width)
    assert lines[0] == "wide [table]"
    assert "second" in lines
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert text.count("0.983 ± 0.014") == 6
    assert all(name in text for name in (*WIDE, *HEADER))
    assert "DAC [red]" in text  # what looks like markup is text


def test_numbers_stand_on_the_right_and_names_on_the_left():
    lines = shown([("t", HEADER, ROWS)], 80)
    header, long, short = (
        next(line for line in lines if line.split()[:1] == [first])
        for first in ("method", "DAC", "k-means")
    )
    assert header.index("method") == long.index("DAC") == short.index("k-means")
    end = long.index("0.98 ± 0.01") + len("0.98 ± 0.01")
    assert header.index("ARI") + len("ARI") == short.index("-0.50") + len("-0.50") == end
