"""Points with any number of columns in the plane."""

import importlib.util
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

Numbers = NDArray[np.float64]


class Plane(NamedTuple):
    """Points as drawn: positions (n, 2), the names of the axes, the method."""

    places: Numbers
    axes: tuple[str, str]
    method: str


def plane_of(points: Numbers, names: tuple[str, ...], read: Numbers | None = None) -> Plane:
    """Points (n, d) in the plane: directly up to two columns, else by UMAP or principal axes.

    read: the points in the network's frame (n, 2 or more), if known; its first two axes are used
    rather than other ones, because the clusters were found there.
    """
    n_columns = points.shape[1]
    if n_columns == 1:  # random heights, so that equal values do not overlap
        height = np.random.default_rng(0).uniform(-1, 1, len(points))
        return Plane(np.column_stack([points, height]), (names[0], ""), "one column")
    if n_columns == 2:
        return Plane(points, (names[0], names[1]), "the two columns")
    if len(points) > 3 and importlib.util.find_spec("umap") is not None:
        return Plane(
            _umap(standardised(points)), ("UMAP 1", "UMAP 2"), f"UMAP of {n_columns} columns"
        )
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
