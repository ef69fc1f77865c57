import random

import pytest

from coterie.data.tables.quotes import QuoteScan, UnclosedQuote


def line_of_unclosed(text, cuts=()):
    """What the scan of a text, cut into blocks, says."""
    scan = QuoteScan(b",")
    try:
        for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True):
            scan.add(text[start:stop].encode())
        scan.finish()
    except UnclosedQuote as error:
        return error.line
    return None


def one_character_at_a_time(text):
    """The rule, without blocks."""
    inside, opened, line, before, at = False, 1, 1, "\n", 0
    while at < len(text):
        character, behind = text[at], text[at + 1 : at + 2] or "\n"
        if character == '"' and inside and behind == '"':
            at, before = at + 2, '"'
            continue
        if character == '"' and inside:
            if behind not in ",\r\n" and line > opened:
                return opened
            inside = False
        elif character == '"' and before in ",\r\n":
            inside, opened = True, line
        line += character == "\n"
        before, at = character, at + 1
    return opened if inside else None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,b\n1,2\n", None),
        ('a,"b\nc"\n', None),
        ('a,5" pipe\n', None),
        ('a,"say ""hi"""\n', None),
        ('a,"x"y\n', None),
        ('a\n"b\nc\n', 2),
        ('a\nb,"c', 2),
        ('a,b\n"r,1\n"s",2\n"t",3\n', 2),
        ('a\n"say ""hi\n""\n', 2),
    ],
)
def test_an_unclosed_quote_is_found(text, line):
    assert line_of_unclosed(text) == line


def test_blocks_change_nothing():
    generator = random.Random(0)
    for _ in range(5000):
        text = "".join(generator.choices('"""",\nab', k=generator.randint(1, 14)))
        cuts = sorted(generator.choices(range(len(text) + 1), k=generator.randint(0, 4)))
        assert line_of_unclosed(text, cuts) == one_character_at_a_time(text), (text, cuts)
