"""The encoding of a text file, recognised by its first bytes."""

import codecs

from coterie.data.tables.table import SourceError

# UTF-32 first: its mark begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
UNASSIGNED = b"\x81\x8d\x8f\x90\x9d"  # bytes without a character in cp1252
TITLES = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8 with a byte order mark",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
    "cp1252": "Windows-1252",
    "iso8859-1": "Latin-1",
    "ascii": "ASCII",
}


def sniff_encoding(head: bytes) -> str | None:
    """The encoding of a file that begins with these bytes, or None if they are not text.

    Bytes that are valid UTF-8 are taken for it: other text hardly ever is.
    """
    for mark, name in MARKS:
        if head.startswith(mark):
            return name
    if 0 in head:
        return _wide(head)
    if is_utf8(head):
        return "utf-8"
    return western(head)


def western(some: bytes) -> str:
    """The encoding of bytes of Western European text that is not UTF-8."""
    return "iso8859-1" if any(byte in some for byte in UNASSIGNED) else "cp1252"


def is_utf8(some: bytes) -> bool:
    """Whether these bytes begin a text in UTF-8; the last character may be cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(some)
    except UnicodeDecodeError:
        return False
    return True


def known_encoding(name: str) -> str:
    """The normal name of an encoding."""
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise SourceError(f"unknown encoding {name!r}; try utf-8, latin-1 or utf-16") from None


def title(encoding: str) -> str:
    """The usual name of an encoding."""
    return TITLES.get(encoding, encoding)


def _wide(head: bytes) -> str | None:
    """UTF-16 without a mark has a zero byte in most characters of Western text."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    most = 0.4 * (len(head) / 2)
    if odd > most and not even:
        return "utf-16-le"
    if even > most and not odd:
        return "utf-16-be"
    return None
