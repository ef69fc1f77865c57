"""Text that a spreadsheet would run as a formula when it opens a CSV file.

A cell that begins with = + - @ or a tab is written with a leading apostrophe, unless it is a
number: spreadsheets then show it as text. A lone sign is no formula.
"""

from typing import TYPE_CHECKING

from coterie.data.tables.numerals import Numerals
from coterie.data.tables.table import polars

if TYPE_CHECKING:
    import polars as pl

FORMULA = r"^[=+\-@\t\r]."


def without_formulas(frame: "pl.DataFrame", numerals: Numerals) -> "pl.DataFrame":
    """The frame with formulas in columns of text and in their names made harmless."""
    kinds = polars()
    named = [harmless_name(name) for name in frame.columns]
    text = [series for series in frame.get_columns() if series.dtype == kinds.String]
    text = _not_plain(text, numerals)
    # In one go for all columns: plain negative numbers, of which a file may hold thousands of
    # columns, are told from formulas without the slow parser of currency and the like.
    numbered = kinds.DataFrame([series.alias(str(at)) for at, series in enumerate(text)])
    plain = numerals.as_plain(kinds.all().str.to_lowercase())
    suspicious = kinds.all().str.contains(FORMULA) & plain.is_null()
    suspects = numbered.select(suspicious.any()).row(0) if text else ()
    for series, suspect in zip(text, suspects, strict=True):
        if suspect:
            place = frame.get_column_index(series.name)
            frame = frame.replace_column(place, _harmless(series, numerals))
    return frame.rename(dict(zip(frame.columns, named, strict=True)))


def _not_plain(text: "list[pl.Series]", numerals: Numerals) -> "list[pl.Series]":
    """The columns of text that hold more than plain numbers and gaps."""
    frame = polars().DataFrame([series.alias(str(at)) for at, series in enumerate(text)])
    after, before = numerals.parse_plain(frame).null_count(), frame.null_count()
    pairs = zip(text, after.row(0), before.row(0), strict=True) if text else ()
    return [series for series, parsed, given in pairs if parsed != given]


def harmless_name(name: str) -> str:
    """A column name with a leading apostrophe if it looks like a formula."""
    return f"'{name}" if len(name) > 1 and name[0] in "=+-@\t\r" else name


def _harmless(series: "pl.Series", numerals: Numerals) -> "pl.Series":
    kinds = polars()
    cells = series.alias("cells")
    lower = cells.str.strip_chars().str.to_lowercase()
    plain = numerals.parse_plain(lower.to_frame()).to_series()
    is_number = plain.is_not_null() | numerals.parse(lower).numbers.is_not_null()
    suspect = cells.str.contains(FORMULA) & ~is_number
    frame = kinds.DataFrame([cells, suspect.alias("suspect")])
    quoted = kinds.concat_str(kinds.lit("'"), kinds.col("cells"))
    written = kinds.when(kinds.col("suspect")).then(quoted).otherwise(kinds.col("cells"))
    return frame.select(written).to_series().alias(series.name)
