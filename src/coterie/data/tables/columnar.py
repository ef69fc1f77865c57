"""Parquet and Arrow: files of typed columns."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.data.tables.table import (
    ADDED,
    Batch,
    LeftOut,
    SourceError,
    Writer,
    as_frame,
    polars_errors,
    pyarrow,
)

BATCH_ROWS = 65_536


class Columnar:
    """A file of batches of typed columns; subclasses open and create the formats."""

    text_is_data = False
    aside: tuple[LeftOut, ...] = ()
    suffixes: tuple[str, ...]
    kind: str

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._path = path
        with self._refusing():
            self.schema, self._n_rows = self._describe()
            self.columns: tuple[str, ...] = tuple(self.schema.names)
            for field in self.schema:
                _require_text(field)
        if len(set(self.columns)) < len(self.columns):
            twice = next(name for name in self.columns if self.columns.count(name) > 1)
            raise SourceError(f"{name} has several columns {twice!r}; rename them first")

    def batches(self) -> Iterator[Batch]:
        """The rows in the order of the file."""
        seen = 0
        with self._refusing():
            for native in self._native_batches():
                seen += native.num_rows
                if native.num_rows:
                    native.validate(full=True)  # what is damaged would end the process elsewhere
                    share = seen / self._n_rows if self._n_rows else 1.0
                    yield Batch(as_frame(native, self.columns), native, share)
        if not seen:
            raise SourceError(f"{self.name} has no rows")

    @contextmanager
    def writer(self, target: Path) -> Iterator[Writer]:
        arrow = pyarrow()
        schema = self.schema.append(arrow.field(ADDED[0], arrow.int32()))
        schema = schema.append(arrow.field(ADDED[1], arrow.float64()))
        with (
            arrow.OSFile(os.fsencode(target), "wb") as sink,
            self._make(sink, schema) as file,
        ):
            yield _BatchWriter(file, schema)

    def _describe(self) -> tuple[Any, int]:
        """The schema and the number of rows, 0 if it is unknown."""
        raise NotImplementedError

    def _native_batches(self) -> Iterator[Any]:
        raise NotImplementedError

    def _make(self, sink: Any, schema: Any) -> Any:
        raise NotImplementedError

    def _bytes(self) -> Any:
        """The file, by a path that need not be UTF-8."""
        return pyarrow().OSFile(os.fsencode(self._path))

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except (pyarrow().ArrowException, OSError, UnicodeError, *polars_errors()) as error:
            reason = (str(error).splitlines() or ["no reason given"])[0]
            raise SourceError(f"{self.name} is a damaged {self.kind} file: {reason}") from error


class Parquet(Columnar):
    """A Parquet file."""

    suffixes: tuple[str, ...] = (".parquet", ".pq")
    kind = "Parquet"

    def _describe(self) -> tuple[Any, int]:
        with pyarrow().parquet.ParquetFile(self._bytes()) as file:
            row_groups = file.metadata.num_row_groups
            self._codec = (
                file.metadata.row_group(0).column(0).compression
                if row_groups and file.metadata.num_columns
                else "SNAPPY"
            )
            return file.schema_arrow, file.metadata.num_rows

    def _native_batches(self) -> Iterator[Any]:
        with pyarrow().parquet.ParquetFile(self._bytes()) as file:
            yield from file.iter_batches(BATCH_ROWS)

    def _make(self, sink: Any, schema: Any) -> Any:
        codec = "NONE" if self._codec == "UNCOMPRESSED" else self._codec
        return pyarrow().parquet.ParquetWriter(sink, schema, compression=codec)


class ArrowFile(Columnar):
    """An Arrow file, also known as Feather."""

    suffixes: tuple[str, ...] = (".arrow", ".feather", ".ipc")
    kind = "Arrow"

    def _describe(self) -> tuple[Any, int]:
        with pyarrow().memory_map(os.fsencode(self._path)) as file:
            reader = pyarrow().ipc.open_file(file)
            batches = range(reader.num_record_batches)
            return reader.schema, sum(reader.get_batch(i).num_rows for i in batches)

    def _native_batches(self) -> Iterator[Any]:
        with pyarrow().memory_map(os.fsencode(self._path)) as file:
            reader = pyarrow().ipc.open_file(file)
            for i in range(reader.num_record_batches):
                yield from _cut(reader.get_batch(i))

    def _make(self, sink: Any, schema: Any) -> Any:
        return pyarrow().ipc.new_file(sink, schema)


class ArrowStream(Columnar):
    """An Arrow stream, which has no index of its batches."""

    suffixes: tuple[str, ...] = (".arrows", ".arrow", ".ipc")
    kind = "Arrow"

    def _describe(self) -> tuple[Any, int]:
        with self._bytes() as file:
            return pyarrow().ipc.open_stream(file).schema, 0

    def _native_batches(self) -> Iterator[Any]:
        with self._bytes() as file:
            for batch in pyarrow().ipc.open_stream(file):
                yield from _cut(batch)

    def _make(self, sink: Any, schema: Any) -> Any:
        return pyarrow().ipc.new_stream(sink, schema)


class _BatchWriter:
    def __init__(self, file: Any, schema: Any) -> None:
        self._file, self.schema = file, schema

    def write(
        self, batch: Batch, labels: NDArray[np.intp], confidence: NDArray[np.float64]
    ) -> None:
        added = [pyarrow().array(labels.astype(np.int32)), pyarrow().array(confidence)]
        columns = [*batch.native.columns, *added]
        self._file.write_batch(pyarrow().record_batch(columns, schema=self.schema))


def _require_text(field: Any) -> None:
    """Raise a UnicodeDecodeError for a field with a name or a note, at any depth, that is no text.

    polars would panic, and its engine prints a trace before anybody can handle that.
    """
    _ = field.name, getattr(field.type, "tz", None)  # pyarrow decodes them when asked
    for note in (field.metadata or {}).items():
        b" ".join(note).decode()
    kind = getattr(field.type, "storage_type", field.type)  # of an extension
    for i in range(kind.num_fields):
        _require_text(kind.field(i))
    if hasattr(kind, "index_type"):  # of a dictionary
        _require_text(pyarrow().field("", kind.value_type))


def _cut(batch: Any) -> Iterator[Any]:
    for start in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(start, BATCH_ROWS)
