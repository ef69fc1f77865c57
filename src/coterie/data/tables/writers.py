"""Write frames to a file whose extension names the format, piece by piece."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.data.tables.formulas import without_formulas
from coterie.data.tables.numerals import POINT
from coterie.data.tables.table import SourceError, polars, pyarrow, xlsxwriter

if TYPE_CHECKING:
    import polars as pl

Write = Callable[["pl.DataFrame"], None]
EXCEL_ROWS, EXCEL_COLUMNS = 1_048_576, 16_384  # the limits of the format


@contextmanager
def frames_to(target: Path, suffix: str, *, keep_formulas: bool = False) -> Iterator[Write]:
    """A function that writes frames of the same columns to the target, in the format of suffix.

    It raises a SourceError where the format cannot hold a column, before any of the frame is there.
    """
    writing: AbstractContextManager[Write]
    if suffix in TEXT_SEPARATORS:
        writing = _text(target, TEXT_SEPARATORS[suffix], keep_formulas=keep_formulas)
    else:
        writing = FORMATS[suffix](target)
    with writing as write:

        def checked(frame: "pl.DataFrame") -> None:
            _require_room(frame, suffix)
            write(frame)

        yield checked


def _require_room(frame: "pl.DataFrame", suffix: str) -> None:
    """Raise if a column is of a type that a format has no place for."""
    known = polars()
    for name, kind in frame.schema.items():
        inner = [*_kinds_in(kind)]
        if suffix in TEXT_SEPARATORS:
            fits = not kind.is_nested() and kind not in (known.Binary, known.Duration)
        elif suffix in (".json", ".jsonl", ".ndjson"):
            fits = known.Binary not in inner
        else:
            fits = suffix == ".xlsx" or known.Int128 not in inner
        if not fits:
            raise SourceError(
                f"column {name!r} is of type {kind}, which {suffix} files cannot hold; write"
                " another format, or the labels alone"
            )


def _kinds_in(kind: "pl.DataType") -> Iterator["pl.DataType"]:
    """A type and those of what it is made of."""
    yield kind
    fields = [each.dtype for each in getattr(kind, "fields", ())]
    for each in (*fields, *([kind.inner] if hasattr(kind, "inner") else ())):
        yield from _kinds_in(each)


@contextmanager
def _text(target: Path, separator: str, *, keep_formulas: bool) -> Iterator[Write]:
    with target.open("w", encoding="utf-8", newline="") as file:

        def write(frame: "pl.DataFrame") -> None:
            safe = frame if keep_formulas else without_formulas(frame, POINT)
            is_first = file.tell() == 0
            file.write(
                safe.write_csv(separator=separator, float_precision=6, include_header=is_first)
            )

        yield write


@contextmanager
def _json_lines(target: Path) -> Iterator[Write]:
    with target.open("w", encoding="utf-8", newline="") as file:
        yield lambda frame: _ignore(file.write(frame.write_ndjson()))


@contextmanager
def _json(target: Path) -> Iterator[Write]:
    with target.open("w", encoding="utf-8", newline="") as file:
        file.write("[")
        between = "\n"

        def write(frame: "pl.DataFrame") -> None:
            nonlocal between
            for line in frame.write_ndjson().splitlines():
                file.write(between + line)
                between = ",\n"

        yield write
        file.write("\n]\n")


@contextmanager
def _arrow(target: Path, make: Callable[[Any, Any], Any]) -> Iterator[Write]:
    """Parquet and Arrow: the first frame decides the types."""
    made: list[Any] = []
    with pyarrow().OSFile(os.fsencode(target), "wb") as sink:

        def write(frame: "pl.DataFrame") -> None:
            table = frame.to_arrow(compat_level=polars().CompatLevel.oldest())
            if not made:
                made.append((make(sink, table.schema), table.schema))
            file, schema = made[0]
            file.write_table(table.cast(schema))

        try:
            yield write
        finally:
            for file, _ in made:
                file.close()


@contextmanager
def _excel(target: Path) -> Iterator[Write]:
    # Text stays text: a cell that begins with = is no formula.
    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "nan_inf_to_errors": True,
    }
    with target.open("wb") as file, xlsxwriter().Workbook(file, options) as book:
        sheet = book.add_worksheet("clusters")
        at = 0

        def write(frame: "pl.DataFrame") -> None:
            nonlocal at
            rows = [] if at else [tuple(frame.columns)]
            for row in [*rows, *frame.iter_rows()]:
                if at == EXCEL_ROWS or len(row) > EXCEL_COLUMNS:
                    raise SourceError(
                        f"an Excel sheet has at most {EXCEL_ROWS:,} rows and {EXCEL_COLUMNS:,}"
                        " columns; write another format"
                    )
                sheet.write_row(at, 0, [_excel_cell(cell) for cell in row])
                at += 1

        yield write


def _excel_cell(cell: Any) -> Any:
    return cell if cell is None or isinstance(cell, bool | int | float | str) else str(cell)


def _ignore(_: Any) -> None:
    return None


TEXT_SEPARATORS = {".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t"}
FORMATS: dict[str, Callable[[Path], AbstractContextManager[Write]]] = {
    ".json": _json,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".xlsx": _excel,
    ".parquet": lambda target: _arrow(
        target, lambda *given: pyarrow().parquet.ParquetWriter(*given)
    ),
    ".pq": lambda target: _arrow(target, lambda *given: pyarrow().parquet.ParquetWriter(*given)),
    ".arrow": lambda target: _arrow(target, lambda *given: pyarrow().ipc.new_file(*given)),
    ".feather": lambda target: _arrow(target, lambda *given: pyarrow().ipc.new_file(*given)),
    ".ipc": lambda target: _arrow(target, lambda *given: pyarrow().ipc.new_file(*given)),
    ".arrows": lambda target: _arrow(target, lambda *given: pyarrow().ipc.new_stream(*given)),
}
WRITABLE = (*TEXT_SEPARATORS, *FORMATS)
