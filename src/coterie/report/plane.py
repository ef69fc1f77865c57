"""Points with any number of columns in the plane."""

import importlib.util
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from coterie.inference.result import NOISE
from coterie.report.geography import Coordinates, coordinates
from coterie.report.separation import best_pair, drawn_sample, separation

Numbers = NDArray[np.float64]

ALIKE = 0.01  # scores that differ less are equal: a column is preferred to an axis
NEARLY = 0.8  # of the best score: a map that shows the clusters so well is preferred


class Plane(NamedTuple):
    """Points as drawn: positions (n, 2), the names of the axes, the method in words.

    columns: the numbers of the two columns if the positions are in their units; stretch: the length
    of a vertical unit in horizontal ones, for maps, else None.
    """

    places: Numbers
    axes: tuple[str, str]
    method: str
    columns: tuple[int, ...] = ()
    stretch: float | None = None


def plane_of(
    points: Numbers,
    names: Sequence[str] | None,
    read: Numbers | None = None,
    labels: NDArray[np.intp] | None = None,
    *,
    umap: bool = False,
) -> Plane:
    """Points (n, d) in the plane, so that the clusters can be seen.

    names: of the columns, None where no single column means anything, as for pixels; read: the
    points in the network's frame (n, 2 or more), if known; labels: the clusters (n,), -1 for noise.

    One or two columns are drawn directly, longitude and latitude as a map. More are drawn on the
    first two axes that the network read, else on the principal axes of standardised columns, or by
    UMAP if that is wanted and installed. Where two named columns show the clusters at least as
    well, these are drawn, because their units mean something to the reader.
    """
    n_columns = points.shape[1]
    named = names is not None
    if names is None:
        names = ("first column", "second column")
    if n_columns == 1:  # random heights, so that equal values do not overlap
        height = np.random.default_rng(0).uniform(-1, 1, len(points))
        return Plane(np.column_stack([points, height]), (names[0], ""), "one column", (0,))
    place = coordinates(points, names) if named else None
    chart = None if place is None else _of_coordinates(points, names, place)
    if n_columns == 2:
        return chart or _of_columns(points, names, (0, 1), "the two columns")
    plane = _of_axes(points, read, umap=umap)
    if not named or labels is None or len(np.unique(labels[labels != NOISE])) < 2:
        return chart or plane
    sample = drawn_sample(len(points))
    some = labels[sample]
    score = separation(plane.places[sample], some)
    pair = best_pair(points[sample], some)
    if pair is not None and pair.score >= score - ALIKE:
        words = f"the two of {n_columns} columns that separate the clusters best"
        plane, score = _of_columns(points, names, (pair.x, pair.y), words), pair.score
    if chart is not None and separation(chart.places[sample], some) >= NEARLY * score:
        return chart
    return plane


def plane_of_posteriors(probabilities: Numbers) -> Plane:
    """Points between the clusters, which stand on a circle, by probabilities (n, k).

    A point is the mean of the clusters, weighted by its probabilities: certain ones are far out.
    """
    turns = 2 * np.pi * np.arange(probabilities.shape[1]) / probabilities.shape[1]
    circle = np.stack([np.cos(turns), np.sin(turns)], 1)
    method = "clusters on a circle; the farther out a point, the more certain it is"
    return Plane(probabilities @ circle, ("", ""), method)


def _of_columns(
    points: Numbers, names: Sequence[str], columns: tuple[int, int], method: str
) -> Plane:
    x, y = columns
    return Plane(points[:, [x, y]], (names[x], names[y]), method, columns)


def _of_coordinates(points: Numbers, names: Sequence[str], place: Coordinates) -> Plane:
    columns = (place.longitude, place.latitude)
    chart = _of_columns(points, names, columns, "a map by longitude and latitude")
    return chart._replace(stretch=place.stretch)


def _of_axes(points: Numbers, read: Numbers | None, *, umap: bool) -> Plane:
    n_columns = points.shape[1]
    if umap and len(points) > 3 and importlib.util.find_spec("umap") is not None:
        method = f"UMAP of {n_columns} columns"
        return Plane(_umap(standardised(points)), ("UMAP 1", "UMAP 2"), method)
    axes = ("first principal component", "second principal component")
    if read is not None and read.shape[1] >= 2:
        method = f"the first two axes of the network's input, from {n_columns} columns"
        return Plane(np.asarray(read[:, :2], dtype=np.float64), axes, method)
    method = f"principal components of {n_columns} standardised columns"
    return Plane(_principal(standardised(points)), axes, method)


def standardised(points: Numbers) -> Numbers:
    """Columns (n, d) centred at their medians and divided by their robust spread."""
    centred = points - np.median(points, axis=0)
    return centred / spread(centred)


def spread(points: Numbers) -> Numbers:
    """The median absolute deviation of each column (d,), scaled like a standard deviation.

    It is the standard deviation if more than half of the values are equal, and one if all are.
    """
    usual = 1.4826 * np.median(abs(points - np.median(points, axis=0)), axis=0)
    usual = np.where(usual > 0, usual, points.std(axis=0))
    return np.where(usual > 0, usual, 1.0)


def _principal(points: Numbers) -> Numbers:
    places = np.zeros((len(points), 2))
    width = min(2, *points.shape)
    if len(points) > 1:
        with np.errstate(divide="ignore", invalid="ignore"):  # equal rows have no variance
            places[:, :width] = PCA(width, random_state=0).fit_transform(np.clip(points, -10, 10))
    return places


def _umap(points: Numbers) -> Numbers:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about threads and initialisation
        from umap import UMAP

        neighbours = min(15, len(points) - 1)
        found: Numbers = UMAP(n_neighbors=neighbours, random_state=0).fit_transform(points)
    return np.asarray(found, dtype=np.float64)
