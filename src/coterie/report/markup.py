"""HTML that cannot be broken by what is put into it: whatever is not markup is escaped."""

import json
from html import escape
from typing import Any


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


VOID = {"meta", "br", "rect", "path", "line", "circle"}


def element(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element; children that are no Html are text. An attribute of None is left away.

    Underscores of attribute names stand for hyphens, and one at the end for nothing (class_).
    """
    opening = name + "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID and not children:
        return Html(f"<{opening}/>")
    return Html(f"<{opening}>{join(*children)}</{name}>")


def join(*children: Any) -> Html:
    """Children one after another; None is nothing."""
    return Html(
        "".join(
            child if isinstance(child, Html) else escape(str(child))
            for child in children
            if child is not None
        )
    )


def embedded_json(data: Any, identity: str) -> Html:
    """Data for a script, in which no text can end the element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{escape(identity)}">{text}</script>')
