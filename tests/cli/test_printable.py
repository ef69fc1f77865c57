import os

import pytest

from coterie.cli.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("größe, 100 % [b]", "größe, 100 % [b]"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x9b2J", r"\x9b2J"),
        ("\u202eevil", r"\u202eevil"),
        (os.fsdecode(b"caf\xe9"), r"caf\udce9"),
    ],
)
def test_control_characters_are_escaped(text, shown):
    assert printable(text) == shown
    printable(text).encode()
