"""Text of files on a terminal: control characters would move the cursor, or do worse."""

import re

# Controls of C0 and C1, marks that change the direction of writing, and halves of characters, which
# stand for the bytes of a file name that is not UTF-8.
UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    """The text with control characters escaped, as in \\x1b."""
    return UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], text)
