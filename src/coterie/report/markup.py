"""HTML elements whose content is escaped unless it is markup."""

import json
from html import escape
from typing import Any


class Html(str):
    """Text that is already markup."""

    __slots__ = ()


MAX_CELL = 48
VOID = {"meta", "br", "img", "rect", "path", "line", "circle"}


def element(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element; children that are not Html are text. Attributes of None are omitted.

    Underscores in attribute names become hyphens; a trailing one is removed (class_).
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
    """Concatenate children; None is skipped."""
    return Html(
        "".join(
            child if isinstance(child, Html) else escape(str(child))
            for child in children
            if child is not None
        )
    )


def shortened(text: str) -> str:
    """The text of a cell, cut to MAX_CELL characters."""
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + "…"


def embedded_json(data: Any, identity: str) -> Html:
    """Data for a script, escaped so that no text can end the element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{escape(identity)}">{text}</script>')
