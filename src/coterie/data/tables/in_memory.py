"""Formats that are read as a whole: JSON, JSON lines and Excel."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.data.tables.table import (
    ADDED,
    Batch,
    LeftOut,
    SourceError,
    Writer,
    fastexcel,
    polars,
    polars_errors,
)
from coterie.data.tables.writers import Write, frames_to

if TYPE_CHECKING:
    import polars as pl

BATCH_ROWS = 65_536


class FrameFile:
    """A table in memory. Numbers may be text, as in '$5'."""

    text_is_data = True
    aside: tuple[LeftOut, ...] = ()

    def __init__(self, name: str, frame: "pl.DataFrame", suffixes: tuple[str, ...]) -> None:
        self.name, self.suffixes, self._frame = name, suffixes, frame
        self.columns: tuple[str, ...] = tuple(frame.columns)
        if not len(frame) or not self.columns:
            raise SourceError(f"{name} has no rows")

    def batches(self) -> Iterator[Batch]:
        """The rows in their order."""
        for start in range(0, len(self._frame), BATCH_ROWS):
            rows = self._frame[start : start + BATCH_ROWS]
            yield Batch(rows, rows, (start + len(rows)) / len(self._frame))

    @contextmanager
    def writer(self, target: Path) -> Iterator[Writer]:
        suffix = target.suffix.lower()
        with frames_to(target, suffix if suffix in self.suffixes else self.suffixes[0]) as write:
            yield FrameWriter(write, self.columns)


class FrameWriter:
    """Writes some columns of batches, with their clusters, as frames."""

    def __init__(self, write: Write, columns: tuple[str, ...]) -> None:
        self._write, self._columns = write, columns

    def write(self, batch: Batch, labels: Any, confidence: Any) -> None:
        series = polars().Series
        kept = [batch.frame.get_column(name) for name in self._columns]
        added = [series(ADDED[0], labels).cast(polars().Int32), series(ADDED[1], confidence)]
        self._write(polars().DataFrame([*kept, *added]))


def read_json(path: Path, name: str) -> FrameFile:
    """Records, as in [{"x": 1}, {"x": 2}]; JSON lines; or columns, as in {"x": [1, 2]}.

    Records may have a name, as in {"customers": [{"x": 1}, {"x": 2}]}.
    """
    content = path.read_bytes().lstrip(b"\xef\xbb\xbf \t\r\n")
    if content.startswith(b"{"):
        lines = _parsed(polars().read_ndjson, content)
        if not isinstance(lines, BaseException):
            frame = lines
            if len(lines) > 1 or not _are_columns(lines):
                return FrameFile(name, _records(name, frame), (".jsonl", ".ndjson", ".json"))
    whole = _parsed(polars().read_json, content)
    if isinstance(whole, BaseException):
        reason = (str(whole).splitlines() or ["?"])[0]
        raise SourceError(f"{name} cannot be read as JSON records: {reason}")
    if content.startswith(b"{") and _are_columns(whole):
        try:
            whole = whole.explode(polars().all())
        except polars_errors():
            raise SourceError(f"{name} has columns of different lengths") from None
        if whole.width == 1 and whole.dtypes[0] == polars().Struct:
            whole = whole.unnest(whole.columns[0])
    return FrameFile(name, _records(name, whole), (".json", ".jsonl", ".ndjson"))


def read_excel(path: Path, name: str, sheet: str | None) -> FrameFile:
    """A sheet of an Excel file, the first unless it is named."""
    reader = fastexcel()
    try:
        book = reader.read_excel(path.read_bytes())
        names = book.sheet_names
        if sheet is not None and sheet not in names:
            raise SourceError(
                f"{name} has no sheet {sheet!r}; it has {', '.join(map(repr, names))}"
            )
        frame = polars().from_arrow(book.load_sheet(sheet or 0, schema_sample_rows=None).to_arrow())
    except SourceError:
        raise
    except Exception as error:  # the reader raises many kinds of errors for damaged files
        reason = (str(error).splitlines() or ["?"])[0]
        raise SourceError(f"{name} cannot be read as an Excel file: {reason}") from error
    except BaseException as error:
        if not isinstance(error, polars_errors()):
            raise
        raise SourceError(f"{name} is a damaged Excel file") from error
    return FrameFile(name, frame, (".xlsx",))


def _parsed(read: Any, content: bytes) -> Any:
    """The frame that a reader of polars makes of bytes, or its error."""
    try:
        return read(content, infer_schema_length=None)
    except polars_errors() as error:
        return error


def _are_columns(frame: "pl.DataFrame") -> bool:
    """Whether a single record holds lists: the columns of a table."""
    return len(frame) == 1 and all(kind == polars().List for kind in frame.dtypes)


def _records(name: str, frame: "pl.DataFrame") -> "pl.DataFrame":
    if frame.width and all(kind == polars().Struct for kind in frame.dtypes):
        raise SourceError(
            f"{name} is JSON of nested objects; a table is a list of records,"
            ' as pandas writes with orient="records"'
        )
    return frame
