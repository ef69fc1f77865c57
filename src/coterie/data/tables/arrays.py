"""NumPy arrays in files: one array (NPY), or several by name (NPZ)."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from coterie.data.tables.table import ADDED, Batch, LeftOut, SourceError, Writer, polars

BATCH_ROWS = 65_536
USUAL_NAMES = ("X", "x", "data", "points")


class ArrayFile:
    """An array in a .npy file, (n, d), (n,) or with named fields; rows are read as needed."""

    text_is_data = False
    suffixes: tuple[str, ...] = (".npy",)
    aside: tuple[LeftOut, ...] = ()

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        try:
            self._array = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # NumPy raises many kinds of errors for damaged headers
            raise SourceError(f"{name} cannot be read as an array: {error}") from error
        self.columns = _columns(name, self._array)
        self.is_array = not self._array.dtype.names  # of numbers only, and taken as they are

    def batches(self) -> Iterator[Batch]:
        """The rows of the array."""
        for start in range(0, len(self._array), BATCH_ROWS):
            rows = self._array[start : start + BATCH_ROWS]
            yield Batch(_frame(rows, self.columns), rows, (start + len(rows)) / len(self._array))

    @contextmanager
    def writer(self, target: Path) -> Iterator[Writer]:
        writer = _ArrayWriter(target, self._array)
        yield writer
        writer.close()


class ArchiveFile:
    """A .npz file, which has to fit into memory.

    The table is its only two-dimensional array, or the one with a usual name; one-dimensional
    arrays of the same length are columns that are used only if they are named.
    """

    text_is_data = False
    suffixes: tuple[str, ...] = (".npz",)

    def __init__(self, path: Path, name: str, array: str | None = None) -> None:
        self.name = name
        self._arrays = _unpack(path, name)
        self._key = _choose(name, self._arrays, array)
        table = self._arrays[self._key]
        self._single = {
            key: value
            for key, value in self._arrays.items()
            if key != self._key and value.ndim == 1 and len(value) == len(table)
        }
        self._table_columns = _columns(name, table)
        self.is_array = not table.dtype.names
        self.columns = (*self._table_columns, *self._single)
        if len(set(self.columns)) < len(self.columns):
            raise SourceError(f"{name} has an array with the name of a column of {self._key!r}")
        self.aside = tuple(
            LeftOut(key, "a separate array, used only if --columns names it")
            for key in self._single
        )

    def batches(self) -> Iterator[Batch]:
        """The rows of the table, with the single columns."""
        table = self._arrays[self._key]
        for start in range(0, len(table), BATCH_ROWS):
            rows = slice(start, start + BATCH_ROWS)
            frame = _frame(table[rows], self._table_columns).with_columns(
                polars().Series(key, value[rows]) for key, value in self._single.items()
            )
            yield Batch(frame, table[rows], min(1.0, rows.stop / len(table)))

    @contextmanager
    def writer(self, target: Path) -> Iterator[Writer]:
        for key in ADDED:
            if key in self._arrays:
                raise SourceError(f"{self.name} already has an array {key!r}; rename it first")
        writer = _ArchiveWriter()
        yield writer
        added = zip(ADDED, map(np.concatenate, zip(*writer.found, strict=True)), strict=True)
        everything: dict[str, Any] = {**self._arrays, **dict(added)}
        with target.open("wb") as file:
            np.savez_compressed(file, **everything)


class _ArrayWriter:
    """Writes into a memory-mapped file of the final size, so that rows are never all in memory."""

    def __init__(self, target: Path, source: NDArray) -> None:
        self._fields = source.dtype.names
        if self._fields:
            kind = np.dtype([*source.dtype.descr, (ADDED[0], "<i4"), (ADDED[1], "<f8")])
            shape: tuple[int, ...] = (len(source),)
        else:
            kind = np.result_type(source.dtype, np.float32)
            width = source.shape[1] if source.ndim == 2 else 1
            shape = (len(source), width + len(ADDED))
        self._file = open_memmap(target, mode="w+", dtype=kind, shape=shape)
        self._at = 0

    def write(
        self, batch: Batch, labels: NDArray[np.intp], confidence: NDArray[np.float64]
    ) -> None:
        rows = slice(self._at, self._at + len(labels))
        if self._fields:
            for field in self._fields:
                self._file[field][rows] = batch.native[field]
            self._file[ADDED[0]][rows], self._file[ADDED[1]][rows] = labels, confidence
        else:
            self._file[rows] = np.column_stack([batch.native, labels, confidence])
        self._at = rows.stop

    def close(self) -> None:
        self._file.flush()


class _ArchiveWriter:
    def __init__(self) -> None:
        self.found: list[tuple[NDArray, NDArray]] = []

    def write(
        self, batch: Batch, labels: NDArray[np.intp], confidence: NDArray[np.float64]
    ) -> None:
        self.found.append((labels.astype(np.int32), confidence))


def _unpack(path: Path, name: str) -> dict[str, NDArray[Any]]:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except Exception as error:  # NumPy and zipfile raise many kinds of errors here
        raise SourceError(f"{name} cannot be read as NumPy arrays: {error}") from error
    if not arrays or not all(isinstance(value, np.ndarray) for value in arrays.values()):
        raise SourceError(f"{name} is an archive without arrays; a spreadsheet? Save it as CSV")
    return arrays


def _choose(name: str, arrays: dict[str, NDArray], wanted: str | None) -> str:
    listed = ", ".join(f"{key} {value.shape}" for key, value in arrays.items())
    if wanted is not None:
        if wanted not in arrays:
            raise SourceError(f"{name} has no array {wanted!r}; it has {listed}")
        return wanted
    tables = [key for key, value in arrays.items() if value.ndim == 2]
    usual = [key for key in USUAL_NAMES if key in tables]
    if len(tables) == 1 or usual:
        return (usual or tables)[0]
    raise SourceError(f"{name} has {listed}; choose the table with --array NAME")


def _columns(name: str, array: NDArray) -> tuple[str, ...]:
    if array.size == 0:
        raise SourceError(f"{name} has no rows")
    if array.dtype.names and array.ndim == 1:
        return array.dtype.names
    if array.ndim not in (1, 2):
        raise SourceError(f"{name} has an array of shape {array.shape}; a table has two dimensions")
    if array.dtype.kind not in "biuf":
        raise SourceError(f"{name} has an array of type {array.dtype}, which is not numeric")
    width = array.shape[1] if array.ndim == 2 else 1
    return tuple(f"x{i + 1}" for i in range(width))


def _frame(rows: NDArray, columns: tuple[str, ...]) -> Any:
    if rows.dtype.names:
        return polars().DataFrame({name: np.ascontiguousarray(rows[name]) for name in columns})
    plain = rows[:, None] if rows.ndim == 1 else rows
    return polars().DataFrame(
        {name: np.ascontiguousarray(plain[:, i]) for i, name in enumerate(columns)}
    )
