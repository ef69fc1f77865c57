"""The map of the points, with the data of its tooltips."""

import numpy as np
from numpy.typing import NDArray

from coterie.inference.result import NOISE
from coterie.palette import FAINT
from coterie.report.content import Content
from coterie.report.drawings import Frame, cluster_dots, frame_of, marker, picture, sureness
from coterie.report.markup import Html, element, embedded_json, shortened

WIDTH, HEIGHT = 760, 520
MARGIN = 40
MAX_HOVER_COLUMNS = 16
MAX_HOVER_CHARACTERS = 2_000_000
MAX_LEGEND = 40


def map_section(content: Content) -> Html:
    """The points in the plane beside the sizes of the clusters."""
    frame = frame_of(content.plane.places, WIDTH, HEIGHT, MARGIN)
    pixels = frame(content.plane.places)
    labels = content.clustering.labels[content.shown]
    levels = sureness(content.confidence[content.shown], content.clustering.n_clusters)
    radius = float(np.clip(90 / np.sqrt(len(pixels)), 1.6, 4.6))
    drawing = picture(
        WIDTH,
        HEIGHT,
        element("g", *_axes(content, frame)),
        element("g", *cluster_dots(pixels, labels, levels, radius), class_="points"),
        element("g", *_numbers(pixels, labels), class_="numbers"),
        element("circle", r=radius + 4, class_="ring", fill="none", visibility="hidden"),
        class_="map",
        role="img",
        tabindex="0",
        aria_label=f"{content.clustering.n_clusters} clusters in the plane: {content.plane.method}",
    )
    hover = _hover(content, pixels)
    return element(
        "section",
        element("h2", "Map"),
        element(
            "div",
            element(
                "figure",
                drawing,
                element("div", class_="tip", hidden="hidden", role="status"),
                element("figcaption", *_caption(content, hover["columns"])),
            ),
            _legend(content),
            class_="beside",
        ),
        embedded_json(hover, "rows"),
        class_="overview",
    )


def _caption(content: Content, columns: list[dict]) -> list[str | Html]:
    n_points, n_shown = len(content.points), len(content.shown)
    words = [f"Shown: {content.plane.method}."]
    if n_shown < n_points:
        words.append(f" A sample of {n_shown:,} of {n_points:,} points.")
    words.append(" Paler points are less certain.")
    left = len(content.names) + len(content.details) - len(columns)
    more = f" (without {left} further columns)" if left else ""
    hint = element(
        "span", f" Hover over a point, or use the arrow keys, to read its row{more}.", class_="hint"
    )
    return [*words, hint]


def _legend(content: Content) -> Html:
    """The sizes of the clusters as bars, with their markers."""
    total, k = content.total, len(content.sizes)
    inside = content.clustering.labels[content.clustering.labels >= 0]
    sums = np.bincount(
        inside, content.confidence[content.clustering.labels >= 0], minlength=k
    ) / np.maximum(1, np.bincount(inside, minlength=k))
    rows = [
        element(
            "tr",
            element("th", marker(cluster), cluster, scope="row"),
            element("td", f"{size:,}"),
            element("td", f"{size / total:.1%}"),
            element(
                "td",
                element("span", style=f"width:{100 * size / content.sizes.max():.1f}%"),
                class_="bar",
            ),
            element("td", f"{sums[cluster]:.2f}"),
            data_cluster=cluster,
        )
        for cluster, size in enumerate(content.sizes[:MAX_LEGEND])
    ]
    if len(content.sizes) > MAX_LEGEND:
        rest = content.sizes[MAX_LEGEND:]
        words = f"{len(rest)} smaller clusters, {rest.sum():,} rows in total"
        rows.append(element("tr", element("td", words, colspan=5)))
    if content.n_noise:
        cells = (f"{content.n_noise:,}", f"{content.n_noise / total:.1%}", "", "")
        name = element("th", marker(NOISE), "noise", scope="row")
        rows.append(
            element("tr", name, *(element("td", cell) for cell in cells), data_cluster=NOISE)
        )
    head = [
        element("th", "cluster", scope="col"),
        element("th", "rows", scope="col"),
        element("th", "share", scope="col"),
        element("th", ""),
        element("th", "confidence", scope="col"),
    ]
    return element(
        "table",
        element("thead", element("tr", *head)),
        element("tbody", *rows),
        class_="sizes",
    )


def _axes(content: Content, frame: Frame) -> list[Html]:
    x_name, y_name = content.plane.axes
    own_units = len(content.names) <= 2
    parts = []
    for axis in range(2 if y_name else 1):
        for value in ticks(float(frame.low[axis]), float(frame.high[axis])) if own_units else []:
            x, y = frame(np.array([[value, value]]))[0]
            line = (
                {"x1": x, "x2": x, "y1": 8, "y2": HEIGHT - 18}
                if axis == 0
                else {"x1": 0, "x2": WIDTH, "y1": y, "y2": y}
            )
            at_x, at_y = (x, HEIGHT - 5) if axis == 0 else (4, y - 4)
            parts.append(element("line", class_="grid", **{k: f"{v:.1f}" for k, v in line.items()}))
            parts.append(
                _text(at_x, at_y, f"{value:g}", "middle" if axis == 0 else "start", "tick")
            )
    parts.append(_text(WIDTH - 6, HEIGHT - 22, f"{shortened(x_name)} →", "end", "axis"))
    if y_name:
        parts.append(_text(4, 16, f"↑ {shortened(y_name)}", "start", "axis"))
    return parts


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between low and high."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    size = 10.0 ** np.floor(np.log10(rough))
    step = size * min((1, 2, 5, 10), key=lambda times: abs(times * size - rough))
    first, last = np.ceil(low / step), np.floor(high / step)
    return [float(number * step) + 0.0 for number in np.arange(first, last + 1)]  # no -0


def _numbers(pixels: NDArray[np.float64], labels: NDArray[np.intp]) -> list[Html]:
    """The number of each cluster, at its point nearest to its median."""
    found = []
    for cluster in np.unique(labels[labels != NOISE])[:MAX_LEGEND]:
        inside = pixels[labels == cluster]
        middle = np.median(inside, axis=0)
        x, y = inside[np.argmin(((inside - middle) ** 2).sum(axis=1))]
        found.append(_text(x, y + 5, str(cluster), "middle", "number"))
    return found


def _text(x: float, y: float, words: str, anchor: str, kind: str) -> Html:
    fill = FAINT if kind in ("tick", "axis") else None
    return element(
        "text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=kind, fill=fill
    )


def _hover(content: Content, pixels: NDArray[np.float64]) -> dict:
    """Positions, clusters, confidence and cells of the drawn points, for the script."""
    shown = content.shown
    places = np.searchsorted(content.described, shown)
    columns: list[dict] = []
    left = MAX_HOVER_CHARACTERS
    further = [
        (name, [shortened(cells[place]) for place in places])
        for name, cells in content.details.items()
    ]
    own = (
        (name, [f"{value:.6g}" for value in content.points[shown, number]])
        for number, name in enumerate(content.names)
    )
    for name, cells in (*further, *own):
        left -= len(embedded_json(cells, ""))
        if left < 0 or len(columns) == MAX_HOVER_COLUMNS:
            break
        columns.append({"name": shortened(name), "cells": cells})
    return {
        "x": [round(float(x), 1) for x in pixels[:, 0]],
        "y": [round(float(y), 1) for y in pixels[:, 1]],
        "row": content.numbers[shown].tolist(),
        "cluster": content.clustering.labels[shown].tolist(),
        "confidence": [round(float(value), 3) for value in content.confidence[shown]],
        "columns": columns,
    }
