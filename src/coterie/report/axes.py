"""The axes of the map."""

import numpy as np

from coterie.palette import FAINT
from coterie.report.content import Content
from coterie.report.drawings import Frame
from coterie.report.markup import Html, element, shortened
from coterie.report.numerals import tick_numeral, ticks


def drawn_axes(content: Content, frame: Frame) -> list[Html]:
    """The names of the axes and, for columns in their own units, lines with numbers."""
    width, height = frame.width, frame.height
    x_name, y_name = content.plane.axes
    parts = []
    for axis, column in enumerate(content.plane.columns):
        values = ticks(float(frame.low[axis]), float(frame.high[axis]))
        numeral = tick_numeral(values, content.numerals[column])
        for value in values:
            x, y = frame(np.array([[value, value]]))[0]
            line = (
                {"x1": x, "x2": x, "y1": 8, "y2": height - 18}
                if axis == 0
                else {"x1": 0, "x2": width, "y1": y, "y2": y}
            )
            at_x, at_y = (x, height - 5) if axis == 0 else (4, y - 4)
            parts.append(element("line", class_="grid", **{k: f"{v:.1f}" for k, v in line.items()}))
            anchor = "middle" if axis == 0 else "start"
            parts.append(_text(at_x, at_y, numeral(value), anchor, "tick"))
    if x_name:
        parts.append(_text(width - 6, height - 22, f"{shortened(x_name)} →", "end", "axis"))
    if y_name:
        parts.append(_text(4, 16, f"↑ {shortened(y_name)}", "start", "axis"))
    return parts


def _text(x: float, y: float, words: str, anchor: str, kind: str) -> Html:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}"}
    return element("text", words, **place, text_anchor=anchor, class_=kind, fill=FAINT)
