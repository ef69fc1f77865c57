"""Open files by their signature, standard input, and folders of images."""

import os
import select
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from coterie.data.tables.arrays import ArchiveFile, ArrayFile
from coterie.data.tables.columnar import ArrowFile, ArrowStream, Parquet
from coterie.data.tables.delimited import Delimited
from coterie.data.tables.image_folder import ImageFolder
from coterie.data.tables.table import Source, SourceError

STANDARD_INPUT = "-"
CHUNK = 1 << 20
WAIT = 0.2  # seconds until Python looks for signals
LONGEST_SIGNATURE = 8
FOREIGN = {
    b"\x1f\x8b": "is compressed; decompress it, as in: gunzip -c FILE | coterie cluster -",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd; decompress it first",
    b"FEA1": "is a Feather file of version 1, which is obsolete",
    b"\xd0\xcf\x11\xe0": "is a spreadsheet; save it as CSV",
    b"%PDF": "is a PDF document, not a table",
}


@contextmanager
def opened(
    path: Path | str,
    *,
    separator: str | None = None,
    encoding: str = "utf-8",
    array: str | None = None,
) -> Iterator[Source]:
    """The table in a file, on standard input if the path is "-", or of the images in a folder."""
    if separator is not None and len(separator.encode()) != 1:
        raise SourceError(f"the separator must be one character, got {separator!r}")
    if str(path) != STANDARD_INPUT:
        yield _source(Path(path), str(path), separator, encoding, array)
        return
    with tempfile.NamedTemporaryFile(prefix="coterie-") as copy:  # because it is read twice
        _copy(sys.stdin.buffer, copy)
        copy.flush()
        yield _source(Path(copy.name), "standard input", separator, encoding, array)


def _copy(source: IO[bytes], target: IO[bytes]) -> None:
    """Copy all bytes; a pipe or terminal is read in short waits.

    A signal may reach another thread than this one, which then stays in a blocking read: Ctrl+C
    would have no effect until more input comes.
    """
    raw = getattr(source, "raw", None)
    if raw is None or os.name != "posix":
        shutil.copyfileobj(source, target)
        return
    while True:
        if not select.select([raw], [], [], WAIT)[0]:
            continue
        if not (chunk := raw.read(CHUNK)):
            return
        target.write(chunk)


def _source(
    path: Path, name: str, separator: str | None, encoding: str, array: str | None
) -> Source:
    if path.is_dir():
        return ImageFolder(path, name)
    if not path.is_file():
        raise SourceError(f"no file {name}")
    with path.open("rb") as file:
        start = file.read(LONGEST_SIGNATURE)
    for signature, complaint in FOREIGN.items():
        if start.startswith(signature):
            raise SourceError(f"{name} {complaint}")
    if start.startswith(b"PAR1"):
        return Parquet(path, name)
    if start.startswith(b"ARROW1"):
        return ArrowFile(path, name)
    if start.startswith(b"\xff\xff\xff\xff"):
        return ArrowStream(path, name)
    if start.startswith(b"\x93NUMPY"):
        return ArrayFile(path, name)
    if start.startswith(b"PK"):
        return ArchiveFile(path, name, array)
    for other in (Parquet, ArrowFile, ArrayFile, ArchiveFile):
        if path.suffix.lower() in other.suffixes:
            raise SourceError(f"{name} is not in the format of its extension")
    return Delimited(path, name, separator=separator, encoding=encoding)
