"""Files compressed with gzip or zstd."""

import gzip
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from coterie.data.tables.table import SourceError, pyarrow

SIGNATURES = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}


def codec_of(start: bytes) -> str | None:
    """The compression of a file that begins with these bytes."""
    return next((codec for sign, codec in SIGNATURES.items() if start.startswith(sign)), None)


def uncompressed_name(path: Path) -> Path:
    """The path without the suffix of a compression."""
    return path.with_suffix("") if path.suffix.lower() in SUFFIXES else path


def decompress(path: Path, codec: str, target: Path, name: str) -> None:
    """Write the content of a compressed file, called name in messages, to the target."""
    try:
        with path.open("rb") as raw, _reading(raw, codec) as file, target.open("wb") as copy:
            shutil.copyfileobj(file, copy)
    except (EOFError, gzip.BadGzipFile, zlib.error, pyarrow().ArrowException) as error:
        raise SourceError(f"{name} is a damaged {codec} file: {error}") from error
    except OSError as error:
        if error.errno is not None:  # of the disk, such as no space
            raise
        raise SourceError(f"{name} is a damaged {codec} file: {error}") from error


def compress(path: Path, target: Path, codec: str) -> None:
    """Write the content of a file to a compressed target."""
    with path.open("rb") as file, target.open("wb") as raw, _writing(raw, codec) as packed:
        shutil.copyfileobj(file, packed)


@contextmanager
def _reading(raw: IO[bytes], codec: str) -> Iterator[Any]:
    if codec == "gzip":
        with gzip.open(raw) as file:
            yield file
    else:
        with pyarrow().CompressedInputStream(raw, codec) as file:
            yield file


@contextmanager
def _writing(raw: IO[bytes], codec: str) -> Iterator[Any]:
    if codec == "gzip":
        # Without a time and a name, so that the same table gives the same file.
        with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
            yield file
    else:
        with pyarrow().CompressedOutputStream(raw, codec) as file:
            yield file
