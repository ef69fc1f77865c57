"""How a file of delimited text is written: encoding, separator, header, decimal sign.

Everything is decided from the beginning of the file. What the user states is taken as it is.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn

from coterie.data.tables.encodings import known_encoding, sniff_encoding, title
from coterie.data.tables.header import has_header
from coterie.data.tables.numerals import COMMA, POINT, Evidence, Numerals, weigh
from coterie.data.tables.table import SourceError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
MAX_RECORDS = 500
MAX_CELLS = 20_000  # whose decimal sign is looked at,
MIN_RECORDS = 5  # of this many records or more
MAX_SCORED = 2_000  # cells that speak for a separator


@dataclass(frozen=True)
class Stated:
    """What the user states about a file; None is decided from its content."""

    separator: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and len(self.separator.encode()) != 1:
            raise SourceError(f"the separator must be one character, got {self.separator!r}")
        if self.decimal not in (None, ".", ","):
            raise SourceError(f"the decimal sign must be . or , and not {self.decimal!r}")


@dataclass(frozen=True)
class Dialect:
    """How a file is written.

    first: the cells of its first record, none if the file is empty; remarks: decisions that could
    have been others.
    """

    encoding: str
    separator: str
    header: bool
    numerals: Numerals
    first: tuple[str, ...]
    says_decimal: bool = False
    remarks: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The column names as they stand in the file, or x1, x2, ... without a header."""
        if self.header:
            return list(self.first)
        return [f"x{number + 1}" for number in range(len(self.first))]

    def sentence(self) -> str:
        """The dialect in words."""
        separated = SEPARATORS.get(self.separator, f"{self.separator!r}")
        words = [f"separated by {separated}"] if len(self.first) > 1 else ["one column"]
        if self.says_decimal:
            words.append("decimal comma" if self.numerals == COMMA else "decimal point")
        words.append("header" if self.header else "no header")
        return ", ".join([*words, title(self.encoding)])

    def as_dict(self) -> dict[str, Any]:
        """The dialect as JSON."""
        return {
            "separator": self.separator,
            "decimal": self.numerals.decimal,
            "header": self.header,
            "encoding": self.encoding,
        }


def sniff(
    head: bytes,
    stated: Stated | None = None,
    *,
    is_whole: bool = True,
    usual: str = ",",
    max_columns: int | None = None,
    name: str = "the text",
) -> Dialect:
    """The dialect of a file that begins with head.

    is_whole: whether head is the whole file; usual: the separator if nothing speaks for another;
    max_columns: more are refused before anything is parsed; name: of the file, for messages.
    """
    stated = stated or Stated()
    text, encoding = _decoded(head, stated.encoding, name)
    # Commas may be decimal signs, at most one in each cell.
    first_line = text.lstrip("\r\n").partition("\n")[0]
    most = max(map(first_line.count, stated.separator or SEPARATORS)) + 1
    if max_columns is not None and most > 2 * max_columns:
        _refuse_wide(name, most, max_columns)
    separator = stated.separator or _separator(text, usual, is_whole=is_whole)
    rows = records(text, separator, is_whole=is_whole)
    if max_columns is not None and rows and len(rows[0]) > max_columns:
        _refuse_wide(name, len(rows[0]), max_columns)
    evidence = weigh(_cells(rows))
    numerals, remarks = _numerals(evidence, separator, stated.decimal)
    header = has_header(rows, numerals) if stated.header is None else stated.header
    return Dialect(
        encoding,
        separator,
        header,
        numerals,
        tuple(rows[0]) if rows else (),
        stated.decimal is not None or any(evidence),
        remarks,
    )


def records(text: str, separator: str, *, is_whole: bool = True) -> list[list[str]]:
    """The first records of a text, without blank lines; the last only if the text is whole."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        found = list(islice(reader, MAX_RECORDS + 1))
    except csv.Error:  # a cell is longer than the module allows
        found = list(islice(_long_records(text, separator), MAX_RECORDS + 1))
    if len(found) <= MAX_RECORDS and not is_whole and len(found) > 1:
        found.pop()  # without its end a record may have more cells
    return [record for record in found if record][:MAX_RECORDS]


def _long_records(text: str, separator: str) -> Iterator[list[str]]:
    """The records of a text with cells of any length, at the speed of Python."""
    ends = f"[^{re.escape(separator)}\r\n]*"
    quoted = '"(?P<quoted>[^"]*(?:""[^"]*)*)(?:"|\\Z)'
    cell = re.compile(f"(?:{quoted}(?P<rest>{ends})|(?P<bare>{ends}))(?P<end>\r\n|.|\n|\\Z)")
    record: list[str] = []
    for found in cell.finditer(text):
        if not found[0] and not record:
            return  # the end of the text
        quoted_text = found["quoted"]
        bare = found["bare"] or ""
        whole = bare if quoted_text is None else quoted_text.replace('""', '"') + found["rest"]
        record.append(whole)
        if found["end"] != separator:
            is_blank = record == [""] and quoted_text is None
            yield [] if is_blank else record
            record = []


def _refuse_wide(name: str, n_columns: int, most: int) -> NoReturn:
    raise SourceError(f"{name} has {n_columns:,} columns; at most {most:,} can be read")


def _decoded(head: bytes, stated: str | None, name: str) -> tuple[str, str]:
    encoding = known_encoding(stated) if stated else sniff_encoding(head)
    if encoding is None:
        raise SourceError(f"{name} is not text and in no known format")
    text = head.decode(encoding, errors="replace" if stated is None else "ignore")
    return text.removeprefix("\ufeff"), encoding


def _separator(text: str, usual: str, *, is_whole: bool) -> str:
    """The separator that divides all records into as many cells, most of them numbers."""
    scores: dict[str, tuple[float, float, bool, int]] = {}
    for separator in SEPARATORS:
        rows = records(text, separator, is_whole=is_whole)
        if not rows or len(rows[0]) < 2:
            continue
        width = len(rows[0])
        agreement = sum(len(row) == width for row in rows) / len(rows)
        cells = list(islice(_cells(rows), MAX_SCORED))
        numbers = sum(map(_is_some_number, cells)) / max(1, len(cells))
        scores[separator] = (agreement, numbers, separator == usual, width)
    if scores:
        return max(scores, key=scores.__getitem__)
    lines = text.split()[1:]
    if lines and all(line.count(",") == 1 and COMMA.is_number(line) for line in lines[:MAX_CELLS]):
        return ";"  # one column of numbers with decimal commas, below a name
    return usual


def _numerals(
    evidence: Evidence, separator: str, stated: str | None
) -> tuple[Numerals, tuple[str, ...]]:
    """The decimal sign, and a remark if the cells allow another one."""
    if stated is not None:
        return (COMMA if stated == "," else POINT), ()
    if evidence.point and evidence.comma:
        taken, other = (COMMA, ".") if evidence.comma > evidence.point else (POINT, ",")
        sign = "comma" if taken == COMMA else "point"
        remark = f"numbers with both decimal signs: the {sign} was assumed; if wrong: --decimal"
        return taken, (f"{remark} {other!r}",)
    if evidence.point or evidence.comma:
        return (COMMA if evidence.comma else POINT), ()
    # From here on, every comma and point could also separate thousands.
    if evidence.either_comma is not None:
        cell = evidence.either_comma
        if separator == ";":
            return COMMA, (f"{cell!r} was read with a decimal comma; if wrong: --decimal '.'",)
        return POINT, (f"{cell!r} was read as thousands; if wrong: --decimal ','",)
    if evidence.either_point is not None:
        if separator != ";":
            return POINT, ()
        cell = evidence.either_point
        return POINT, (f"{cell!r} was read with a decimal point; if wrong: --decimal ','",)
    return (COMMA if separator == ";" else POINT), ()


def _cells(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Cells of several rows, if possible below the first, which may be a header."""
    width = min(len(rows[0]), MAX_CELLS // MIN_RECORDS) if rows else 1
    body = rows[1:] or rows
    return (cell for row in body[: MAX_CELLS // max(1, width)] for cell in row[:width])


def _is_some_number(cell: str) -> bool:
    return POINT.is_number(cell) or COMMA.is_number(cell)
