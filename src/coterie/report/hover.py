"""What the script of a page knows of the drawn points: for tooltips and downloads."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from coterie.report.content import Content
from coterie.report.markup import embedded_json, shortened
from coterie.report.sentences import spoken

MAX_HOVER_COLUMNS = 16
MAX_HOVER_CHARACTERS = 2_000_000


def hover_data(content: Content, pixels: NDArray[np.float64]) -> dict:
    """Positions, clusters, confidence and cells of the drawn points, for the script."""
    shown = content.shown
    columns: list[dict] = []
    left = MAX_HOVER_CHARACTERS
    for name, cells, grouped in _columns(content):
        left -= len(embedded_json(cells, ""))
        if left < 0 or len(columns) == MAX_HOVER_COLUMNS:
            break
        columns.append({"name": shortened(name), "cells": cells, "grouped": grouped})
    return {
        "x": [round(float(x), 1) for x in pixels[:, 0]],
        "y": [round(float(y), 1) for y in pixels[:, 1]],
        "row": content.numbers[shown].tolist(),
        "cluster": content.clustering.labels[shown].tolist(),
        "confidence": [round(float(value), 3) for value in content.confidence[shown]],
        "columns": columns,
        "clusters": {
            "size": content.sizes.tolist(),
            "confidence": [round(float(value), 3) for value in content.mean_confidence],
            "outside": content.n_noise,
        },
        "medians": _medians(content),
    }


def _columns(content: Content) -> Iterator[tuple[str, list[str], bool]]:
    """Name and cells of each column of the drawn points, and whether its numbers have commas.

    Where the rows are images, none of their own columns means anything.
    """
    places = np.searchsorted(content.described, content.shown)
    for name, cells in content.details.items():
        yield name, [shortened(cells[place]) for place in places], False
    if content.pictures:
        return
    for j, (name, numeral) in enumerate(zip(content.names, content.numerals, strict=True)):
        cells = [numeral.exact(value) for value in content.points[content.shown, j].tolist()]
        yield spoken(name, numeral), cells, numeral.grouped


def _medians(content: Content) -> list[dict]:
    """The median of each column in each cluster, or the share of a category, for the download."""
    if content.pictures:
        return []
    columns = zip(content.names, content.numerals, content.medians.T.tolist(), strict=True)
    return [
        {
            "name": f"{'share' if numeral.share else 'median'} of {spoken(name, numeral)}",
            "cells": [f"{value:.7g}" for value in values],
        }
        for name, numeral, values in columns
    ]
