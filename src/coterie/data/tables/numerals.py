"""Numbers as people write them: decimal and thousands signs, currency, percent, parentheses.

A cell of text is read as a number if one of these forms matches it as a whole:

- `1234.5`, `-1.5e3`: plain, with the decimal sign of the file;
- `1,234.5`: thousands in groups of three, separated by the sign that is not the decimal sign, a
  space or an apostrophe;
- `$1,234.50`, `€ 3,50`, `12 EUR`: with a currency;
- `3.0%`: a percentage, of which the number is kept as it stands, here 3;
- `(1,200)`: negative, as in accounting.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from coterie.data.tables.table import polars

if TYPE_CHECKING:
    import polars as pl

Decimal = Literal[".", ","]
SPACES = " \u00a0\u2009\u202f"
APOSTROPHES = "'\u2019"
MINUS = "\u2212"
SYMBOLS = "$€£¥₹₽₩₺₫₴₪฿₱₦₿"
CODES = (
    "usd|eur|gbp|chf|jpy|cny|inr|brl|cad|aud|nzd|sek|nok|dkk|pln|czk|huf|ron|krw|mxn|zar|try|rub|"
    "sgd|hkd|ils|us\\$|kr|zł"
)
CURRENCY = f"(?:[{SYMBOLS}]|{CODES})"
GAP = f"[{SPACES}]*"
SIGN = f"[-+{MINUS}]?"
AFFIXES = (
    f"^(?P<open>\\({GAP})?(?P<sign>{SIGN}){GAP}(?P<before>{CURRENCY}{GAP})?(?P<inner>{SIGN})"
    f"(?P<core>[0-9.,][0-9.,e+{SPACES}{APOSTROPHES}-]*?)"
    f"(?P<percent>{GAP}%)?(?P<after>{GAP}{CURRENCY})?(?P<close>{GAP}\\))?$"
)
KINDS = ("currency", "percentages", "parentheses for negative numbers", "grouped thousands")


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
class Numerals:
    """How numbers are written in a file."""

    decimal: Decimal = "."

    @property
    def thousands(self) -> str:
        """The sign that may group thousands, besides spaces and apostrophes."""
        return "," if self.decimal == "." else "."

    @cached_property
    def plain(self) -> str:
        """A pattern of numbers without groups."""
        mark = re.escape(self.decimal)
        return f"^(?:[0-9]+{mark}?[0-9]*|{mark}[0-9]+)(?:e[+-]?[0-9]+)?$"

    @cached_property
    def grouped(self) -> str:
        """A pattern of numbers with groups of thousands, each separated by the same sign."""
        mark = re.escape(self.decimal)
        signs = [re.escape(self.thousands), f"[{SPACES}]", f"[{APOSTROPHES}]"]
        groups = "|".join(f"(?:{sign}[0-9]{{3}})+" for sign in signs)
        indian = "(?:,[0-9]{2})+,[0-9]{3}|" if self.decimal == "." else ""
        return f"^[1-9][0-9]{{0,2}}(?:{indian}{groups})(?:{mark}[0-9]*)?$"

    def is_number(self, cell: str) -> bool:
        """Whether a cell is a number in this notation."""
        found = re.match(AFFIXES, cell.strip().lower())
        if found is None or _is_lopsided(found):
            return False
        core = found["core"]
        return bool(re.match(self.plain, core) or re.match(self.grouped, core))

    def parse_plain(self, frame: "pl.DataFrame") -> "pl.DataFrame":
        """Columns of text as numbers without groups, currency and the like; other cells null."""
        text = polars().all().str.strip_chars()
        if self.decimal == ",":  # a point makes a cell no number here
            text = text.str.replace_all(".", "x", literal=True)
            text = text.str.replace(",", ".", literal=True)
        return frame.select(text.cast(polars().Float64, strict=False))

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
        digits = core.str.replace_all(f"[{re.escape(self.thousands)}{SPACES}{APOSTROPHES}]", "")
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


def weigh(cells: Iterable[str]) -> Evidence:
    """Which decimal sign cells of text speak for."""
    point = comma = 0
    either: dict[str, str] = {}
    for cell in cells:
        if "." not in cell and "," not in cell:
            continue
        as_point, as_comma = POINT.is_number(cell), COMMA.is_number(cell)
        if as_point and as_comma:
            either.setdefault("." if "." in cell else ",", cell.strip())
        point += as_point and not as_comma
        comma += as_comma and not as_point
    return Evidence(point, comma, either.get("."), either.get(","))


def _is_lopsided(found: re.Match[str]) -> bool:
    """Whether signs, parentheses or currencies contradict each other."""
    signs = found["sign"] + found["inner"]
    is_open, is_closed = found["open"] is not None, found["close"] is not None
    twice = found["before"] is not None and found["after"] is not None
    return is_open != is_closed or len(signs) > 1 or (is_open and bool(signs)) or twice
