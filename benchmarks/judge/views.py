"""A set in several frames: few or many principal axes, ranks, unmixed axes, half of the columns.

No single frame shows the clusters of every table. Each view below is a small array that a network
reads as a set of its own, so all views of a set can go through the loop as one batch.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from coterie.frames.standard import principal_axes

Points = NDArray[np.float64]

AXES = (2, 3, 4, 6, 8)
MOST_UNMIXED = 8  # axes: a fourth moment of more needs more rows than a context has
LIMIT = 20.0


@dataclass(frozen=True)
class View:
    """Rows in one frame: points (n, m), along axes in units of the first; name: which frame."""

    name: str
    points: NDArray[np.float32]

    def padded(self, width: int) -> NDArray[np.float32]:
        """Points (n, width) as a network of so many columns reads them."""
        columns = min(width, self.points.shape[1])
        out = np.zeros((len(self.points), width), dtype=np.float32)
        out[:, :columns] = self.points[:, :columns]
        return out


def make_views(units: Points, width: int, names: tuple[str, ...]) -> tuple[View, ...]:
    """The views of standardised columns (n, d) that these names ask for and the columns allow.

    "all": the first `width` principal axes; "axes4": the first four; "edge": as many as stand out
    of noise; "rank", "rank4": columns as normal scores; "unmixed": see `unmixed`; "half0", "half1":
    alternate columns. A view that would equal an earlier one is left out.
    """
    turned = turn(units, width)
    views: list[View] = []
    for name in names:
        points = _view(name, units, turned, width)
        if points is None or any(_same(points, view.points) for view in views):
            continue
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


def axes_above_noise(units: Points) -> int:
    """How many axes of standardised columns (n, d) vary more than those of noise would.

    The largest variance of independent columns is (1 + sqrt(d / n))^2 (Marchenko, Pastur 1967).
    """
    n_rows, n_columns = units.shape
    singular = np.linalg.svd(units - units.mean(0), compute_uv=False)
    edge = (1 + np.sqrt(n_columns / n_rows)) ** 2
    return int((singular**2 / n_rows > edge).sum())


def normal_scores(units: Points) -> Points:
    """Each column by its ranks, as quantiles of a normal distribution; equal values stay equal."""
    ranks = rankdata(units, axis=0)
    return np.asarray(ndtri((ranks - 0.5) / len(units)))


def unmixed(turned: NDArray[np.float32], n_axes: int) -> NDArray[np.float32]:
    """Whitened axes turned onto those of extreme kurtosis, the flattest first: (n, n_axes).

    By the fourth-order covariance of whitened points (FOBI, Cardoso 1989); two clusters of similar
    size make the axis between them flat, small ones make it peaked (Tyler et al. 2009).
    """
    points = turned[:, :MOST_UNMIXED].astype(np.float64)
    points = points - points.mean(0)
    scale = points.std(0)
    points = points[:, scale > 0.02] / scale[scale > 0.02]  # what hardly varies is mostly noise
    weight = np.minimum((points**2).sum(1), np.quantile((points**2).sum(1), 0.99))
    fourth = (points * weight[:, None]).T @ points / len(points)
    _, axes = np.linalg.eigh(fourth)
    turned_on = points @ axes  # from the flattest to the most peaked
    third = (turned_on**3).mean(0)
    turned_on = turned_on * np.where(third < 0, -1.0, 1.0)
    return np.clip(turned_on[:, :n_axes], -LIMIT, LIMIT).astype(np.float32)


def _view(
    name: str, units: Points, turned: NDArray[np.float32], width: int
) -> NDArray[np.float32] | None:
    """The points of one view (n, m), or None where there are too few columns for it."""
    n_columns = units.shape[1]
    if name == "all":
        return turned
    if name.startswith("axes"):
        return turned[:, : int(name[4:])]
    if name == "edge":
        return turned[:, : max(2, axes_above_noise(units))]
    if name.startswith("rank"):
        return turn(normal_scores(units), int(name[4:] or width))
    if name.startswith("unmixed"):
        n_axes = int(name[7:] or 4)
        return unmixed(turned, n_axes) if turned.shape[1] > 2 else None
    if name.startswith("half"):
        if n_columns < 4:
            return None
        return turn(units[:, int(name[4:]) :: 2], width)
    raise ValueError(f"unknown view {name!r}")


def _same(one: NDArray, other: NDArray) -> bool:
    return one.shape == other.shape and bool(np.allclose(one, other, atol=1e-5))
