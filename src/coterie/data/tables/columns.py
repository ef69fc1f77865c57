"""Which columns of a file are clustered, and why the others are dropped."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from coterie.data.tables.header import MISSING
from coterie.data.tables.numerals import POINT, Numerals
from coterie.data.tables.table import TEXT, LeftOut, Source, SourceError, polars
from coterie.frames.column_roles import TRUTHS as BOOLEANS
from coterie.frames.table_columns import MISSING_TEXT, FrameColumn, category_of
from coterie.frames.written_numbers import READ_AS_NUMBERS

if TYPE_CHECKING:
    import polars as pl

MAX_LEVELS_READ = 10_000  # a column of text with more of them is no category


@dataclass(frozen=True)
class Choice:
    """The user's choice: columns to use or to exclude, row identifiers, and the true clusters.

    categorical: columns to take for categories whatever they hold; encode: whether columns of text
    become categories, otherwise they are dropped. An entry is a column name or several separated by
    commas.
    """

    columns: Sequence[str] = ()
    exclude: Sequence[str] = ()
    ids: Sequence[str] = ()
    truth: Sequence[str] = ()
    categorical: Sequence[str] = ()
    encode: bool = False

    def of(self, source: Source) -> "Chosen":
        """The candidate columns of a source, and the reasons for dropping the others."""
        only = named(source, self.columns)
        categorical = named(source, self.categorical)
        reasons = dict(source.aside)
        reasons.update({name: "not among --columns" for name in source.columns if only})
        for name in (*only, *categorical):
            reasons.pop(name, None)
        reasons.update(dict.fromkeys(named(source, self.exclude), "excluded"))
        reasons.update(dict.fromkeys(named(source, self.ids), "identifies the rows"))
        reasons.update(dict.fromkeys(named(source, self.truth), "holds the true groups"))
        tried = tuple(name for name in source.columns if name not in reasons)
        for name in (*only, *categorical):
            if name in reasons:
                raise SourceError(f"column {name!r} is both selected and excluded")
        if not tried:
            raise SourceError(f"all columns of {source.name} are excluded")
        return Chosen(tried, reasons, bool(only), categorical, self.encode)


@dataclass(frozen=True)
class Chosen:
    """Candidate columns, reasons against the others.

    insisted: whether the user named them; categorical: those to take for categories; encode:
    whether columns of text become categories.
    """

    tried: tuple[str, ...]
    reasons: dict[str, str]
    insisted: bool
    categorical: tuple[str, ...] = ()
    encode: bool = False


def named(source: Source, entries: Sequence[str]) -> tuple[str, ...]:
    """The columns that entries name; a column name may contain commas."""
    found: list[str] = []
    known = frozenset(source.columns)
    for entry in entries:
        whole = entry in known
        for name in [entry] if whole else [part.strip() for part in entry.split(",")]:
            if name not in known:
                has = ", ".join(map(repr, source.columns[:12]))
                more = ", ..." if len(source.columns) > 12 else ""
                raise SourceError(f"{source.name} has no column {name!r}; it has {has}{more}")
            found.append(name)
    return tuple(dict.fromkeys(found))


class Column:
    """Statistics of a column over the batches read so far.

    encode: whether text is read as categories, otherwise it makes the column unusable; as_text:
    whether all cells are categories, even if they are numbers; numerals: how numbers are written.
    """

    def __init__(
        self,
        name: str,
        *,
        text_is_data: bool,
        encode: bool = False,
        as_text: bool = False,
        numerals: Numerals = POINT,
    ) -> None:
        self.name = name
        self.numerals = numerals
        self.forms: dict[str, None] = {}  # the ways of writing numbers that were found, in order
        self.reason: str | None = None
        self.text: str | None = TEXT if as_text else None  # how it is known to be text
        self.gaps = 0
        self.infinite = 0
        self.first_infinite: int | None = None
        self.became_text = False
        self._text_is_data = text_is_data
        self._encode = encode
        self._there_are_values = False
        self._all_truths = True
        self._levels: dict[str, int] = {}

    def read(self, column: "pl.Series", start: int) -> NDArray[np.float64]:
        """The numbers (m,) of a batch that begins at row start; NaN if missing.

        Categories are numbered in order of appearance.
        """
        if self.reason is not None:
            return np.full(len(column), np.nan)
        column = column.alias("cells")  # polars would expand a name such as "^.*$"
        numbers = self._numbers(column, start) if self.text is None else self._codes(column)
        if numbers is None and self._encode and self.reason is not None:
            numbers = self._read_as_text(column)
        if numbers is None:
            return np.full(len(column), np.nan)
        if self.text is None:
            self._all_truths = self._all_truths and _are_truths(column, numbers)
        self.count(numbers, start)
        return numbers

    def read_plain(self, numbers: NDArray[np.float64], start: int) -> None:
        """Take the numbers (m,) of a batch whose cells were digits, so none of them a boolean."""
        self._all_truths = self._all_truths and bool(np.isnan(numbers).all())
        self.count(numbers, start)

    def count(self, numbers: NDArray[np.float64], start: int) -> None:
        """Update the statistics with the numbers (m,) of a batch that begins at row start."""
        gaps = np.isnan(numbers)
        self.gaps += int(gaps.sum())
        self._there_are_values |= not gaps.all()
        self._note_infinite(numbers, start)

    def left_out(self) -> LeftOut | None:
        """Why the column cannot be used, after all batches."""
        if self.reason is not None:
            return LeftOut(self.name, self.reason)
        if not self._there_are_values:
            return LeftOut(self.name, "no values")
        return None

    @property
    def parses_text(self) -> bool:
        """Whether numbers stored as text are read from the next batch."""
        return self._text_is_data and self.reason is None and self.text is None

    def framed(self, values: NDArray[np.float64]) -> FrameColumn:
        """Values (m,) that were read as a column of a table."""
        if self.text is not None:
            codes = np.where(np.isnan(values), -1, values).astype(np.intp)
            return FrameColumn(self.name, "categories", codes, tuple(self._levels))
        truths = self._all_truths and self._there_are_values
        return FrameColumn(self.name, "truths" if truths else "numbers", values)

    def _read_as_text(self, column: "pl.Series") -> NDArray[np.float64] | None:
        """The categories of a column that turned out to be text."""
        reason = self.reason or ""
        if not reason.startswith(TEXT):
            return None
        if self._there_are_values:  # numbers were read before: the file has to be read again
            self.became_text = True
            return None
        self.text, self.reason = reason, None
        return self._codes(column)

    def _codes(self, column: "pl.Series") -> NDArray[np.float64] | None:
        kinds = polars()
        if column.dtype not in (kinds.String, kinds.Categorical, kinds.Enum):
            cells = [category_of(cell) for cell in column.to_list()]
            column = kinds.Series(column.name, cells, dtype=kinds.String)
        text = column.cast(kinds.String).str.strip_chars()
        missing = text.str.to_lowercase().is_in(MISSING_TEXT).fill_null(True)
        text = kinds.select(kinds.when(missing).then(None).otherwise(text)).to_series()
        for level in text.drop_nulls().unique(maintain_order=True).to_list():
            self._levels.setdefault(level, len(self._levels))
        if len(self._levels) > MAX_LEVELS_READ:
            self.reason = f"{self.text}, with more than {MAX_LEVELS_READ:,} different values"
            return None
        codes = text.replace_strict(self._levels, default=None, return_dtype=kinds.Float64)
        numbers: NDArray[np.float64] = codes.fill_null(float("nan")).to_numpy()
        return numbers

    def _numbers(self, column: "pl.Series", start: int) -> NDArray[np.float64] | None:
        kinds = polars()
        kind = column.dtype
        if kind == kinds.String and self._text_is_data:
            return self._parsed(column, start)
        if kind == kinds.Null:
            return np.full(len(column), np.nan)
        if not (kind.is_numeric() or kind == kinds.Boolean):
            self.reason = _kind(kind)
            return None
        numbers: NDArray[np.float64] = column.cast(kinds.Float64).fill_null(float("nan")).to_numpy()
        return numbers

    def _parsed(self, column: "pl.Series", start: int) -> NDArray[np.float64] | None:
        text = column.str.strip_chars().str.to_lowercase().fill_null("")
        numbers = self.numerals.parse_plain(text.to_frame()).to_series()
        truths = text.replace_strict(BOOLEANS, default=None, return_dtype=polars().Float64)
        numbers = numbers.fill_null(truths)
        other = (numbers.is_null() & ~text.is_in(MISSING)).arg_true()
        if len(other):
            found, forms = self.numerals.parse(text[other])
            wrong = other.filter(found.is_null())
            if len(wrong):
                row = int(wrong[0])
                self.reason = f"{TEXT}, {_short(column[row])} in row {start + row + 1}"
                return None
            numbers = numbers.scatter(other, found)
            self.forms |= dict.fromkeys(forms)
        parsed: NDArray[np.float64] = numbers.fill_null(float("nan")).to_numpy()
        return parsed

    def _note_infinite(self, numbers: NDArray[np.float64], start: int) -> None:
        wrong = np.isinf(numbers)
        if wrong.any():
            self.infinite += int(wrong.sum())
            if self.first_infinite is None:
                self.first_infinite = start + int(np.argmax(wrong))


def columns_of(
    source: Source,
    names: Sequence[str],
    *,
    encode: Collection[str] = (),
    as_text: Collection[str] = (),
) -> list[Column]:
    """Columns of a source, to be read in its notation of numbers.

    encode: those whose text becomes categories; as_text: those that are categories throughout.
    """
    return [
        Column(
            name,
            text_is_data=source.text_is_data,
            encode=name in encode,
            as_text=name in as_text,
            numerals=getattr(source, "numerals", POINT),
        )
        for name in names
    ]


def read_batch(columns: Sequence[Column], frame: "pl.DataFrame", start: int) -> NDArray[np.float64]:
    """The numbers (m, d) of d columns in a batch that begins at row start; NaN if missing.

    The same as reading the columns one by one, but text of plain numbers is parsed for all columns
    in one query: a query for each of thousands of columns takes far longer than its work.
    """
    values = np.empty((len(frame), len(columns)))
    places = {name: at for at, name in enumerate(frame.columns)}
    everything = frame.get_columns()
    series = [everything[places[column.name]] for column in columns]
    plain = _plain_numbers(columns, series)
    for at, column in enumerate(columns):
        if at in plain:
            values[:, at] = plain[at]
            column.read_plain(values[:, at], start)
        else:
            values[:, at] = column.read(series[at], start)
    return values


def form_notes(columns: Sequence[Column]) -> tuple[str, ...]:
    """A note on the columns whose numbers are written with a currency and the like."""
    found = [f"{column.name!r} ({', '.join(column.forms)})" for column in columns if column.forms]
    return (f"{READ_AS_NUMBERS}: {', '.join(found)}",) if found else ()


def _plain_numbers(
    columns: Sequence[Column], series: "Sequence[pl.Series]"
) -> dict[int, NDArray[np.float64]]:
    """The columns of text in which all cells are empty or plain numbers, by their place."""
    kinds = polars()
    text = [
        at
        for at, (column, cells) in enumerate(zip(columns, series, strict=True))
        if column.parses_text and cells.dtype == kinds.String
    ]
    if not text:
        return {}
    # Numbered names, because an expression would expand a name such as "^.*$".
    frame = kinds.DataFrame([series[at].alias(str(at)) for at in text])
    parsed = columns[text[0]].numerals.parse_plain(frame)
    gaps = zip(parsed.null_count().row(0), frame.null_count().row(0), strict=True)
    clean = [after == before for after, before in gaps]
    numbers = parsed.to_numpy()
    return {at: numbers[:, i] for i, at in enumerate(text) if clean[i]}


def _are_truths(column: "pl.Series", numbers: NDArray[np.float64]) -> bool:
    """Whether the numbers (m,) of a batch were booleans, or the texts true and false."""
    kinds = polars()
    if column.dtype == kinds.Boolean:
        return True
    present = numbers[~np.isnan(numbers)]
    if column.dtype != kinds.String or not ((present == 0) | (present == 1)).all():
        return len(present) == 0
    text = column.str.strip_chars().str.to_lowercase()
    return int(text.is_in(list(BOOLEANS)).sum()) == len(present)


def refuse_infinite(source: Source, columns: Sequence[Column]) -> None:
    """Raise for infinite values, naming the first."""
    first = [
        (column.first_infinite, column.name)
        for column in columns
        if column.first_infinite is not None
    ]
    if not first:
        return
    row, name = min(first)
    others = sum(column.infinite for column in columns) - 1
    more = f", and {others:,} more" if others else ""
    raise SourceError(
        f"{source.name} has an infinite value in row {row + 1}, counted without the header,"
        f" column {name!r}{more}; correct it, or drop columns with --exclude"
    )


def refuse_no_numbers(source: Source, left_out: Sequence[LeftOut]) -> NoReturn:
    """Raise for a file without a usable column."""
    reasons = ", ".join(f"{name!r}: {reason}" for name, reason in left_out[:8])
    hint = ""
    if len(source.columns) == 1 and source.text_is_data:
        hint = "; if the separator is another character, set it with --sep"
    raise SourceError(f"{source.name} has no numeric column ({reasons}){hint}")


def _kind(kind: "pl.DataType") -> str:
    if kind.is_temporal():
        return "dates or times"
    kinds = polars()
    if kind in (kinds.String, kinds.Categorical, kinds.Enum):
        return TEXT
    if kind.is_nested():
        return "nested values"
    return f"not numbers but {str(kind).lower()}"


def _short(text: str, width: int = 24) -> str:
    return repr(text if len(text) <= width else text[: width - 3] + "...")
