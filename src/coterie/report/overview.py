"""The map of the points, beside the sizes of the clusters."""

import numpy as np
from numpy.typing import NDArray

from coterie.inference.result import NOISE
from coterie.report.axes import drawn_axes
from coterie.report.content import Content
from coterie.report.drawings import cluster_dots, frame_of, marker, picture, sureness
from coterie.report.hover import hover_data
from coterie.report.markup import Html, element, embedded_json
from coterie.report.naming import default_name, name_of, naming

WIDTH, HEIGHT = 760, 520
MARGIN = 40
MAX_LEGEND = 40
LEGIBLE = (22, 16)  # pixels between two numbers: across, or down


def map_section(content: Content) -> Html:
    """The points in the plane beside the sizes of the clusters."""
    plane = content.plane
    frame = frame_of(plane.places, WIDTH, HEIGHT, MARGIN, stretch=plane.stretch)
    pixels = frame(plane.places)
    labels = content.clustering.labels[content.shown]
    levels = sureness(content.confidence[content.shown], content.clustering.n_clusters)
    radius = float(np.clip(90 / np.sqrt(len(pixels)), 1.6, 4.6))
    drawing = picture(
        WIDTH,
        HEIGHT,
        element("g", *drawn_axes(content, frame)),
        element("g", *cluster_dots(pixels, labels, levels, radius), class_="points"),
        element("g", *_numbers(pixels, labels), class_="numbers"),
        element("circle", r=radius + 4, class_="ring", fill="none", visibility="hidden"),
        class_="map",
        role="img",
        tabindex="0",
        aria_label=f"{content.clustering.n_clusters} clusters in the plane: {plane.method}",
    )
    hover = hover_data(content, pixels)
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
    own = 0 if content.pictures else len(content.names)
    left = own + len(content.details) - len(columns)
    more = f" (without {left} further columns)" if left else ""
    hint = element(
        "span", f" Hover over a point, or use the arrow keys, to read its row{more}.", class_="hint"
    )
    return [*words, hint]


def _legend(content: Content) -> Html:
    """The sizes of the clusters as bars, with their markers."""
    total, means = content.total, content.mean_confidence
    rows = [
        element(
            "tr",
            element("th", marker(cluster), name_of(cluster, brief=True), scope="row"),
            element("td", f"{size:,}"),
            element("td", f"{size / total:.1%}"),
            element(
                "td",
                element("span", style=f"width:{100 * size / content.sizes.max():.1f}%"),
                class_="bar",
            ),
            element("td", f"{means[cluster]:.2f}"),
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


def _numbers(pixels: NDArray[np.float64], labels: NDArray[np.intp]) -> list[Html]:
    """The number of each cluster, at its point nearest to its median that leaves others legible."""
    found = []
    taken = np.empty((0, 2))
    for cluster in np.unique(labels[labels != NOISE])[:MAX_LEGEND]:
        inside = pixels[labels == cluster]
        far = ((inside - np.median(inside, axis=0)) ** 2).sum(axis=1)
        free = (abs(inside[:, None] - taken) >= LEGIBLE).any(axis=2).all(axis=1)
        x, y = inside[np.argmin(np.where(free, far, np.inf) if free.any() else far)]
        taken = np.vstack([taken, [x, y]])
        found.append(
            element(
                "text",
                default_name(cluster, brief=True),
                x=f"{x:.1f}",
                y=f"{y + 5:.1f}",
                text_anchor="middle",
                **naming(cluster, brief=True) | {"class_": "number name"},
            )
        )
    return found
