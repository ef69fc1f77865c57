"""Open files by their signature, standard input, and folders of images."""

import os
import re
import select
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from coterie.data.tables.arrays import ArchiveFile, ArrayFile
from coterie.data.tables.columnar import ArrowFile, ArrowStream, Parquet
from coterie.data.tables.compression import codec_of, decompress, uncompressed_name
from coterie.data.tables.delimited import Delimited
from coterie.data.tables.dialect import Stated
from coterie.data.tables.image_folder import ImageFolder
from coterie.data.tables.in_memory import read_excel, read_json
from coterie.data.tables.table import Source, SourceError

STANDARD_INPUT = "-"
CHUNK = 1 << 20
WAIT = 0.2  # seconds until Python looks for signals
LONGEST_SIGNATURE = 64
FOREIGN = {
    b"FEA1": "is a Feather file of version 1, which is obsolete",
    b"%PDF": "is a PDF document, not a table",
    b"SQLite": "is an SQLite database; export a table of it as CSV",
    b"BZh": "is compressed with bzip2; decompress it first",
    b"\xfd7zXZ": "is compressed with xz; decompress it first",
}
OLD_EXCEL = b"\xd0\xcf\x11\xe0"
JSON = (".json", ".jsonl", ".ndjson")
RECORDS = re.compile(rb'(\xef\xbb\xbf)?\s*(\[\s*\{|\{\s*"|\[\s*\])')


@contextmanager
def opened(
    path: Path | str,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    array: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
) -> Iterator[Source]:
    """The table in a file, on standard input if the path is "-", or of the images in a folder.

    How a text file is written is decided from its content, unless it is stated.
    """
    stated = Stated(separator, decimal, header, encoding)
    is_input = str(path) == STANDARD_INPUT
    name = "standard input" if is_input else str(path)
    with tempfile.TemporaryDirectory(prefix="coterie-") as folder:
        plain = Path(path)
        if is_input:
            plain = Path(folder) / "input"  # because it is read twice
            with plain.open("wb") as copy:
                _copy(sys.stdin.buffer, copy)
        if plain.is_file() and (codec := codec_of(_start(plain))):
            unpacked = Path(folder) / f"unpacked{uncompressed_name(plain).suffix}"
            decompress(plain, codec, unpacked, name)
            plain = unpacked
        yield _source(plain, name, stated, array)


def read_as(source: Source) -> dict[str, Any] | None:
    """How a text file is read, as JSON and as a sentence `summary`; None for other files."""
    dialect = getattr(source, "dialect", None)
    return None if dialect is None else {**dialect.as_dict(), "summary": dialect.sentence()}


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


def _source(path: Path, name: str, stated: Stated, array: str | None) -> Source:
    if path.is_dir():
        return ImageFolder(path, name)
    if not path.is_file():
        raise SourceError(f"no file {name}")
    start, suffix = _start(path), path.suffix.lower()
    if codec_of(start):
        raise SourceError(f"{name} is compressed twice; decompress it first")
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
    if start.startswith(OLD_EXCEL) or _is_workbook(path, start):
        return read_excel(path, name, array)
    if start.startswith(b"PK"):
        return ArchiveFile(path, name, array)
    for other in (Parquet, ArrowFile, ArrayFile, ArchiveFile):
        if suffix in other.suffixes:
            raise SourceError(f"{name} is not in the format of its extension")
    if start and (suffix in JSON or RECORDS.match(start)):
        return read_json(path, name)
    return Delimited(path, name, **asdict(stated))


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LONGEST_SIGNATURE)


def _is_workbook(path: Path, start: bytes) -> bool:
    """Whether a zip file is a spreadsheet."""
    if not start.startswith(b"PK"):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False
    return "[Content_Types].xml" in names or "content.xml" in names
