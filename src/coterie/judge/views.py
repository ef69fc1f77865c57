"""A table in several frames: few or many principal axes, and ranks instead of values.

No single frame shows the clusters of every table.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from coterie.frames.standard import principal_axes

Points = NDArray[np.float64]

LIMIT = 20.0


@dataclass(frozen=True)
class View:
    """Rows in one frame: points (n, m), along axes in units of the first; name: which frame."""

    name: str
    points: NDArray[np.float32]


def make_views(units: Points, width: int, names: tuple[str, ...]) -> tuple[View, ...]:
    """The views of standardised columns (n, d) with these names, those that differ.

    "all": the first `width` principal axes; "axes4": the first four; "rank": the same as "all" of
    columns as normal scores. A view that would equal an earlier one is left out.
    """
    turned = turn(units, width)
    views: list[View] = []
    for name in names:
        points = _view(name, units, turned, width)
        if not any(_same(points, view.points) for view in views):
            views.append(View(name, points))
    return tuple(views)


def turn(units: Points, width: int) -> NDArray[np.float32]:
    """Columns (n, d) along their first principal axes, in units of the first: (n, m)."""
    centred = units - units.mean(0)
    axes = principal_axes(units, width)
    kept = np.flatnonzero(np.abs(axes).sum(0) > 0)
    if not len(kept):
        kept = np.arange(1)
    return np.clip(centred @ axes[:, kept], -LIMIT, LIMIT).astype(np.float32)


def singular_values(units: Points) -> Points:
    """Those of columns (n, d) about their means, in falling order: (min(n, d),)."""
    singular: Points = np.linalg.svd(units - units.mean(0), compute_uv=False)
    return singular


def axes_above_noise(singular: Points, n_rows: int, n_columns: int) -> int:
    """How many axes of standardised columns (n, d) vary more than those of noise would.

    singular: the singular values of the columns.
    """
    return int((singular**2 / n_rows > noise_edge(n_rows, n_columns)).sum())


def noise_edge(n_rows: int, n_columns: int) -> float:
    """The largest variance along an axis of independent columns of variance one.

    (1 + sqrt(d / n))^2 (Marchenko, Pastur 1967).
    """
    return float((1 + np.sqrt(n_columns / n_rows)) ** 2)


def normal_scores(units: Points) -> Points:
    """Each column by its ranks, as quantiles of a normal distribution; equal values stay equal."""
    ranks = np.column_stack([_mean_ranks(column) for column in units.T])
    return np.asarray(ndtri((ranks - 0.5) / len(units)))


def _mean_ranks(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ranks (n,) from one to n of values (n,); equal ones share the mean of theirs."""
    _, place, count = np.unique(column, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (count.cumsum() - (count - 1) / 2)[place]
    return ranks


def _view(name: str, units: Points, turned: NDArray[np.float32], width: int) -> NDArray[np.float32]:
    """The points of one view (n, m)."""
    if name == "all":
        return turned
    if name == "rank":
        return turn(normal_scores(units), width)
    if name.startswith("axes"):
        return turned[:, : int(name[4:])]
    raise ValueError(f"unknown view {name!r}")


def _same(one: NDArray, other: NDArray) -> bool:
    return one.shape == other.shape and bool(np.allclose(one, other, atol=1e-5))
