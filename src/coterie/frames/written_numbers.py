"""Numbers as people write them: decimal and thousands signs, currency, percent, parentheses.

A cell of text is read as a number if one of these forms matches it as a whole:

- `1234.5`, `-1.5e3`: plain, with the decimal sign of the table;
- `1,234.5`: thousands in groups of three, separated by the sign that is not the decimal sign, a
  space or an apostrophe;
- `$1,234.50`, `€ 3,50`, `12 EUR`: with a currency;
- `3.0%`: a percentage, of which the number is kept as it stands, here 3;
- `(1,200)`: negative, as in accounting.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.frames.table_columns import FrameColumn

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
READ_AS_NUMBERS = "read as numbers"


class Written(NamedTuple):
    """A number, and the forms other than plain in which it was written."""

    number: float
    kinds: tuple[str, ...]


class WrittenNumbers(NamedTuple):
    """The numbers (n,) of a column of text, NaN if missing, and the forms that were found."""

    values: NDArray[np.float64]
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Notation:
    """How numbers are written in a table."""

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

    @cached_property
    def separators(self) -> str:
        """A pattern of the signs that may group thousands."""
        return f"[{re.escape(self.thousands)}{SPACES}{APOSTROPHES}]"

    def is_number(self, cell: str) -> bool:
        """Whether a cell is a number in this notation."""
        return self.read(cell) is not None

    def read(self, cell: str) -> Written | None:
        """The number that a cell holds, None if it holds none."""
        found = re.match(AFFIXES, cell.strip().lower())
        if found is None or _is_lopsided(found):
            return None
        core = found["core"]
        grouped = re.match(self.grouped, core) is not None
        if grouped:
            core = re.sub(self.separators, "", core)
        elif not re.match(self.plain, core):
            return None
        size = float(core.replace(self.decimal, "."))
        is_open = found["open"] is not None
        money = found["before"] is not None or found["after"] is not None
        flags = (money, found["percent"] is not None, is_open, grouped)
        negative = is_open or re.search(f"[-{MINUS}]", found["sign"] + found["inner"])
        kinds = tuple(kind for kind, there in zip(KINDS, flags, strict=True) if there)
        return Written(-size if negative else size, kinds)


def numbers_of(column: FrameColumn) -> WrittenNumbers | None:
    """The numbers of a column of text, with decimal points; None if a text is no number."""
    if column.kind != "categories" or not column.levels:
        return None
    notation, numbers, kinds = Notation(), [], dict[str, None]()
    for level in column.levels:
        written = notation.read(level)
        if written is None:
            return None
        numbers.append(written.number)
        kinds |= dict.fromkeys(written.kinds)
    values = np.array([*numbers, np.nan], dtype=np.float64)[column.values]  # -1 is the last
    return WrittenNumbers(values, tuple(kind for kind in KINDS if kind in kinds))


def _is_lopsided(found: re.Match[str]) -> bool:
    """Whether signs, parentheses or currencies contradict each other."""
    signs = found["sign"] + found["inner"]
    is_open, is_closed = found["open"] is not None, found["close"] is not None
    twice = found["before"] is not None and found["after"] is not None
    return is_open != is_closed or len(signs) > 1 or (is_open and bool(signs)) or twice
