"""Where the points of a table are drawn: on what the network reads, or on two columns."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.estimators.registry import clusterer
from coterie.playground.methods import INITIAL, OPTIONS
from coterie.report.plane import plane_of

Numbers = NDArray[np.float64]

REACH = 5.0  # of the positions from the middle, where the units of the axes differ
ALIKE = 10.0  # columns whose ranges differ by less are drawn in their common unit


class Drawn(NamedTuple):
    """Positions (n, 2) on a canvas with one unit in both directions, and the names of the axes.

    is_own: whether they are the points themselves, so that more of them can be drawn.
    """

    places: Numbers
    axes: tuple[str, str]
    is_own: bool


def place_points(points: Numbers, names: tuple[str, ...]) -> Drawn:
    """Points (n, d) of a table with named columns on the canvas.

    Beyond two columns a first clustering tells which picture separates the clusters, see
    `report/plane.py`. Columns of different units are stretched to the canvas, a map is not.
    """
    read, labels = _first_look(points) if points.shape[1] > 2 else (None, None)
    plane = plane_of(points, names, read, labels)
    if plane.stretch is not None:
        return Drawn(plane.places * [1.0, plane.stretch], plane.axes, False)
    if not plane.columns:  # the axes of the network's input have a common unit
        return Drawn(plane.places, plane.axes, False)
    extent = np.ptp(plane.places, axis=0)
    known = extent[extent > 0]
    if plane.columns == (0, 1) and points.shape[1] == 2 and _are_alike(known):
        return Drawn(plane.places, plane.axes, True)
    return Drawn(_stretched(plane.places), plane.axes, False)


def _are_alike(extents: Numbers) -> bool:
    return len(extents) < 2 or bool(extents.max() <= ALIKE * extents.min())


def _stretched(places: Numbers) -> Numbers:
    """Positions (n, 2) with both axes over the whole canvas."""
    low, high = places.min(axis=0), places.max(axis=0)
    half = np.where(high > low, (high - low) / 2, 1.0)
    return (places - (low + high) / 2) / half * [REACH * 4 / 3, REACH]


def _first_look(points: Numbers) -> tuple[Numbers | None, NDArray[np.intp] | None]:
    """The points as the network reads them, and clusters; nothing if it cannot read them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            model = clusterer(INITIAL, random_state=0, **OPTIONS[INITIAL]).fit(points)
        except ValueError:  # too few points, say
            return None, None
    return model.fitted_.frame(points), model.labels_
