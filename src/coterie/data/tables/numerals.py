"""Columns of text as numbers in whatever form these are written (`frames/written_numbers.py`)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from coterie.data.tables.table import polars
from coterie.frames.written_numbers import AFFIXES, KINDS, MINUS, Notation

if TYPE_CHECKING:
    import polars as pl


class Evidence(NamedTuple):
    """Numbers of cells that only one decimal sign explains, and of those that both explain."""

    point: int
    comma: int
    either_point: str | None  # the first cell such as 1.234
    either_comma: str | None  # the first cell such as 1,234


class Parsed(NamedTuple):
    """The numbers of a column of text, null if a cell is none; and the forms that were found."""

    numbers: "pl.Series"
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Numerals(Notation):
    """How numbers are written in a file."""

    def parse_plain(self, frame: "pl.DataFrame") -> "pl.DataFrame":
        """Columns of text as numbers without groups, currency and the like; other cells null."""
        return frame.select(self.as_plain(polars().all()))

    def as_plain(self, text: "pl.Expr") -> "pl.Expr":
        """Text as `parse_plain` reads it."""
        text = text.str.strip_chars()
        if self.decimal == ",":  # a point makes a cell no number here
            text = text.str.replace_all(".", "x", literal=True)
            text = text.str.replace(",", ".", literal=True)
        return text.cast(polars().Float64, strict=False)

    def parse(self, text: "pl.Series") -> Parsed:
        """The numbers of cells of text, which is stripped and in lower case."""
        kinds = polars()
        column = kinds.col("text")
        parts = kinds.DataFrame({"text": text}).select(
            column.str.extract_groups(AFFIXES).struct.unnest()
        )
        core, sign = kinds.col("core"), kinds.col("sign") + kinds.col("inner")
        has = {name: kinds.col(name).is_not_null() for name in ("open", "close", "percent")}
        money = kinds.col("before").is_not_null() | kinds.col("after").is_not_null()
        grouped = core.str.contains(self.grouped)
        digits = core.str.replace_all(self.separators, "")
        digits = kinds.when(grouped).then(digits).when(core.str.contains(self.plain)).then(core)
        number = digits.str.replace(self.decimal, ".", literal=True).cast(
            kinds.Float64, strict=False
        )
        negative = sign.str.contains(f"[-{MINUS}]") | has["open"]
        fits = (
            (has["open"] == has["close"])
            & (sign.str.len_chars() < 2)
            & ~(has["open"] & (sign != ""))
            & ~(kinds.col("before").is_not_null() & kinds.col("after").is_not_null())
        )
        value = kinds.when(fits).then(kinds.when(negative).then(-number).otherwise(number))
        flags = (money, has["percent"], has["open"], grouped)
        result = parts.select(
            value.alias("value"),
            *((flag & value.is_not_null()).any().alias(str(at)) for at, flag in enumerate(flags)),
        )
        seen = (bool(len(result) and result[str(at)][0]) for at in range(len(KINDS)))
        return Parsed(
            result["value"], tuple(kind for kind, yes in zip(KINDS, seen, strict=True) if yes)
        )


POINT, COMMA = Numerals("."), Numerals(",")
# What most numbers look like, and no other decimal sign explains: no thousands are marked so.
UNAMBIGUOUS = re.compile(r"\s*[+-]?\d+([.,])(?:\d\d?|\d{4,})\s*")


def weigh(cells: Iterable[str]) -> Evidence:
    """Which decimal sign cells of text speak for."""
    point = comma = 0
    either: dict[str, str] = {}
    for cell in cells:
        if "." not in cell and "," not in cell:
            continue
        if clear := UNAMBIGUOUS.fullmatch(cell):
            point += clear[1] == "."
            comma += clear[1] == ","
            continue
        as_point, as_comma = POINT.is_number(cell), COMMA.is_number(cell)
        if as_point and as_comma:
            either.setdefault("." if "." in cell else ",", cell.strip())
        point += as_point and not as_comma
        comma += as_comma and not as_point
    return Evidence(point, comma, either.get("."), either.get(","))
