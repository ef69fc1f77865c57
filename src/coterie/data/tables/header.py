"""Whether the first record of a text names the columns."""

from collections.abc import Sequence
from itertools import pairwise

from coterie.data.tables.numerals import Numerals

# In any case; cells without a value say nothing about the column.
MISSING = ("", "na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "?", "-", "\u2013")
MOSTLY = 0.9  # share of numbers in a column of numbers
MAX_COLUMNS, MAX_ROWS = 500, 50  # that are looked at
YEARS = range(1800, 2101)


def has_header(rows: Sequence[Sequence[str]], numerals: Numerals) -> bool:
    """Whether the first row names the columns of the others.

    A name is text above numbers. Numbers above numbers are a row of data, except for consecutive
    years, and for 0, 1, 2, ... above measurements, which is how pandas names columns.
    """
    if not rows:
        return True
    first, body = list(rows[0])[:MAX_COLUMNS], rows[1 : MAX_ROWS + 1]
    if not body:
        return not all(numerals.is_number(cell) for cell in first)
    numeric = [
        at
        for at in range(len(first))
        if _is_numeric([row[at] for row in body if at < len(row)], numerals)
    ]
    told = [first[at].strip() for at in numeric if not is_missing(first[at])]
    if not all(numerals.is_number(cell) for cell in told):
        return True
    if not told:
        # Nothing but text, or names without numbers below them.
        return not all(is_missing(cell) or numerals.is_number(cell) for cell in first)
    return _are_years(told, [body[0][at] for at in numeric if at < len(body[0])]) or (
        told == [str(at) for at in range(len(told))]
        and len(told) > 1
        and any("." in row[at] or "," in row[at] for row in body for at in numeric if at < len(row))
    )


def is_missing(cell: str) -> bool:
    """Whether a cell holds no value."""
    return cell.strip().lower() in MISSING


def _is_numeric(cells: Sequence[str], numerals: Numerals) -> bool:
    there = [cell for cell in cells if not is_missing(cell)]
    return sum(map(numerals.is_number, there)) >= MOSTLY * len(there) if there else False


def _are_years(names: Sequence[str], below: Sequence[str]) -> bool:
    """Whether names are two or more consecutive years, and what is below them is not."""
    if len(names) < 2 or not all(name.isdecimal() for name in names):
        return False
    years = [int(name) for name in names]
    consecutive = all(later - year == 1 for year, later in pairwise(years))
    same = all(cell.strip().isdecimal() and int(cell) in YEARS for cell in below)
    return consecutive and years[0] in YEARS and years[-1] in YEARS and not same
