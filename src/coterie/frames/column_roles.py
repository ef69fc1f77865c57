"""Columns that say nothing about clusters: identifiers of the rows, dates, constants.

A column of whole numbers identifies the rows if

- its name says so: `id`, `customer_id`, `customerID`, `uuid`;
- its name allows it (`key`, `code`, `number`) and every row has another number;
- every row has another number although numbers drawn at random from their range would coincide, as
  in 1, 2, 3 or among customers 100,001 to 101,000 of whom a few are missing. Incomes in whole units
  are spread so widely that most or all of them differ by chance, so they stay.
"""

import itertools
import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.frames.table_columns import FrameColumn

TEXT = "text"
IDENTIFIES = "identifies the rows"
CONSTANT = "constant"
DATES = "dates or times"
# Names of row numbers that were exported without one.
NAMELESS = ("", "__index_level_0__", "Unnamed: 0")
SURE_NAMES = ("id", "ids", "uuid", "guid")
POSSIBLE_NAMES = (
    *("key", "pk", "idx", "index", "code", "no", "nr", "num", "number", "serial", "row", "record"),
    *("rowid", "rownum", "rownumber", "recordid", "userid", "customerid", "clientid", "orderid"),
    *("productid", "itemid", "personid", "patientid", "sampleid", "subjectid", "accountid"),
)
CHANCE = 1e-3  # numbers that differ by a smaller chance were made to differ
FIRST_ROWS = (100, 10_000, 100_000)  # most columns repeat a number among these
LARGEST = 2.0**53  # whole numbers beyond are not exact
# Years first or last, with or without a time of day; a time of day; a month.
DATE = re.compile(
    r"((1[5-9]|20)\d\d[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](1[5-9]|20)\d\d"
    r"|(?=\d{1,2}:))([ T]?\d{1,2}:\d\d(:\d\d([.,]\d+)?)?)?\s*(Z|UTC|[+-]\d\d:?\d\d)?"
    r"|(1[5-9]|20)\d\d-(0[1-9]|1[0-2])"
)
TRUTHS = {"true": 1.0, "false": 0.0}  # in any case


class LeftOut(NamedTuple):
    """A dropped column and the reason."""

    name: str
    reason: str

    @property
    def is_text(self) -> bool:
        """Whether it was dropped because it is text."""
        return self.reason.startswith(TEXT)

    @property
    def is_identifier(self) -> bool:
        """Whether it was dropped because it identifies the rows."""
        return self.reason.startswith(IDENTIFIES)


def identifies(column: FrameColumn) -> str | None:
    """Why a column is taken for an identifier of the rows; None for all others."""
    values = _present(column)
    if column.kind != "numbers" or len(values) < 2 or not _is_whole(values):
        return None
    words = _words(column.name)
    if words and words[-1] in SURE_NAMES:
        return f"{IDENTIFIES}, by its name"
    if _repeats(values):
        return None
    if column.name in NAMELESS and _counts(values):
        return f"{IDENTIFIES}: row numbers without a name"
    if words and words[-1] in POSSIBLE_NAMES:
        return f"{IDENTIFIES}, by its name: distinct integers"
    if _chance(values) < CHANCE:
        return f"{IDENTIFIES}: distinct integers"
    return None


def is_constant(column: FrameColumn) -> bool:
    """Whether a numeric column has a single value beside gaps, which are filled with it."""
    values = _present(column)
    return column.kind != "categories" and len(values) > 0 and bool((values == values[0]).all())


def are_dates(column: FrameColumn) -> bool:
    """Whether a column holds dates or times, as such or as text."""
    if column.kind == "dates":
        return True
    return column.kind == "categories" and _all_match(DATE, column.levels)


def truths_of(column: FrameColumn) -> NDArray[np.float64] | None:
    """The texts "true" and "false" of a column as one and zero (n,), NaN if missing."""
    if column.kind != "categories" or not column.levels:
        return None
    numbers = [TRUTHS.get(level.lower()) for level in column.levels]
    if None in numbers:
        return None
    return np.array([*numbers, np.nan], dtype=np.float64)[column.values]  # -1 is the last


def _all_match(pattern: re.Pattern[str], levels: tuple[str, ...]) -> bool:
    return bool(levels) and all(pattern.fullmatch(level) for level in levels)


def _present(column: FrameColumn) -> NDArray:
    if column.kind in ("categories", "dates"):
        return np.empty(0)
    return column.values[~np.isnan(column.values)]


def _is_whole(values: NDArray) -> bool:
    few = values[:100]
    if (few != np.rint(few)).any():  # decides for nearly all measurements
        return False
    return bool((np.abs(values) < LARGEST).all() and (values == np.rint(values)).all())


def _repeats(values: NDArray) -> bool:
    """Whether a number occurs twice; for most columns, the first rows tell."""
    some = (values[:size] for size in FIRST_ROWS if size < len(values))
    parts = itertools.chain(some, [values])  # sorted one by one, as long as none occurs
    return any(bool((np.diff(np.sort(part)) == 0).any()) for part in parts)


def _counts(values: NDArray) -> bool:
    """Whether each number is one more than the one before it."""
    return bool((np.diff(values) == 1).all())


def _chance(values: NDArray) -> float:
    """The chance that as many numbers, drawn from the range of these whole ones, all differ."""
    steps = np.diff(np.sort(values)).astype(np.int64)
    n_places = int(steps.sum()) // int(np.gcd.reduce(steps)) + 1
    return float(np.exp(np.log1p(-np.arange(len(values)) / n_places).sum()))


def _words(name: str) -> list[str]:
    """The words of a name in lower case: customerID and customer_id -> customer, id."""
    return re.findall(r"[a-z]+", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).lower())
