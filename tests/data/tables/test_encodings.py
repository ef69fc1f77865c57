import pytest

from coterie.data.tables.encodings import known_encoding, sniff_encoding, title
from coterie.data.tables.table import SourceError

TEXT = "größe,naïve\n1,2\n"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"]
)
def test_an_encoding_is_known_by_its_bytes(encoding):
    assert sniff_encoding(TEXT.encode(encoding)) == encoding


def test_bytes_that_windows_does_not_have_are_latin():
    assert sniff_encoding(b"caf\xe9 \x81") == "iso8859-1"


def test_a_character_that_is_cut_off_is_utf8_all_the_same():
    assert sniff_encoding("größe".encode()[:4]) == "utf-8"


def test_zero_bytes_are_no_text():
    assert sniff_encoding(b"\x00\x01\x00\x00\x05abc") is None


def test_names_of_encodings():
    assert known_encoding("Latin-1") == "iso8859-1"
    assert title("iso8859-1") == "Latin-1"
    assert title("koi8-r") == "koi8-r"
    with pytest.raises(SourceError, match="unknown encoding 'martian'"):
        known_encoding("martian")
