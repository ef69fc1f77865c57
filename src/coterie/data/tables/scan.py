"""The bytes of a text file before it is parsed: its beginning, and a check of the whole.

The check reads the file once, at the speed of the disk: a later part may disprove the encoding of
the beginning, and an unclosed quote is known only at the end.
"""

import codecs
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from coterie.data.tables.dialect import Dialect
from coterie.data.tables.encodings import western
from coterie.data.tables.quotes import QuoteScan, UnclosedQuote
from coterie.data.tables.table import SourceError

BLOCK_BYTES = 1 << 20
HEAD_BYTES = 1 << 18
MAX_HEAD_BYTES = 1 << 26
WIDE = ("utf-16", "utf-32")  # a quote is more than the byte of a quote


def read_head(path: Path) -> bytes:
    """The beginning of a file, with three lines or more unless they are endless."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
        while head.count(b"\n") < 3 and len(head) < MAX_HEAD_BYTES:
            more = file.read(len(head))
            if not more:
                break
            head += more
    return head


def checked(path: Path, name: str, dialect: Dialect, *, is_stated: bool) -> Dialect:
    """The dialect with the encoding of the whole file; refuses a quote that is never closed.

    is_stated: whether the user stated the encoding.
    """
    if dialect.encoding == "utf-8" and not is_stated:
        dialect = replace(dialect, encoding=_encoding(path))
    scan = QuoteScan(dialect.separator.encode())
    try:
        for block in _as_ascii(_blocks(path), dialect.encoding):
            scan.add(block)
        scan.finish()
    except UnclosedQuote as error:
        raise SourceError(
            f"{name}: the quote that opens a cell in line {error.line:,} is never closed; close it,"
            ' or write it twice ("") if it belongs to the cell'
        ) from None
    return dialect


def _encoding(path: Path) -> str:
    """UTF-8, or the encoding that the first other character suggests."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    block = b""
    try:
        for block in _blocks(path):
            if not (block.isascii() and not decoder.getstate()[0]):
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return western(block)
    return "utf-8"


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            yield block


def _as_ascii(blocks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Blocks in which every quote, separator and line break is a single byte."""
    if not encoding.startswith(WIDE):
        first = next(blocks, b"")
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    for block in blocks:
        yield decoder.decode(block).encode()
    yield decoder.decode(b"", final=True).encode()
