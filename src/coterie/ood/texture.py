"""The texture of a set, for out-of-distribution checks of networks with a frame.

In such a frame scale and origin carry no information. Nor does the confidence of the network, which
is as high on out-of-distribution sets. The check uses three interpretable statistics of the points.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Generator

SETS = 2_000
AT_ONCE = 100
SHARE_BEYOND = 6e-3  # of the training sets, beyond each limit
# In many columns all distances are similar: blobs in forty columns are near the limit.
EVENNESS_ROOM = 1.5
FEWEST_ROWS = 100  # with fewer rows the statistics are unreliable
FEWEST_PLACES = 3
MAX_QUERIES = 1_000  # rows whose nearest neighbour is searched
SAME_PLACE = 4  # decimals: rows that agree to these are duplicates
FLAT = 1e-6  # of the largest variance: axes below are ignored for the tails


class Texture(NamedTuple):
    """Statistics of a set, or limits of them: upper ones, except a lower one for evenness.

    spacing: the lower quartile of the nearest-neighbour distances between distinct places, relative
    to the root-mean-square distance between points; evenness: the standard deviation of the log of
    these distances; tails: the smallest kurtosis over the axes.
    """

    spacing: float
    evenness: float
    tails: float


def texture_of(points: NDArray) -> Texture | None:
    """The texture of points (n, D), or None if there are too few."""
    points = points.astype(np.float64)
    places = np.unique(points.round(SAME_PLACE), axis=0)
    if len(points) < FEWEST_ROWS or len(places) < FEWEST_PLACES:
        return None
    queries = places[:: -(-len(places) // MAX_QUERIES)]
    apart = cKDTree(places).query(queries, k=2)[0][:, 1]
    variance = points.var(0)
    return Texture(
        spacing=float(np.quantile(apart, 0.25) / np.sqrt(2 * variance.sum())),
        evenness=float(np.log(apart).std()),
        tails=_least_kurtosis(points[:, variance > FLAT * variance.max()]),
    )


def texture_limits(prior: Any, *, n_sets: int = SETS, seed: int = 0) -> Texture | None:
    """The limits that hold for nearly all sets of a prior, or None if its sets are too small.

    The prior draws its sets in the frame of the network; the network itself is not used.
    """
    textures = np.array(list(_textures(prior, n_sets, Generator().manual_seed(seed))))
    if not len(textures):
        return None
    spacing, evenness, tails = textures.T
    return Texture(
        spacing=float(np.quantile(spacing, 1 - SHARE_BEYOND)),
        evenness=float(np.quantile(evenness, SHARE_BEYOND) / EVENNESS_ROOM),
        tails=float(np.quantile(tails, 1 - SHARE_BEYOND)),
    )


def _textures(prior: Any, n_sets: int, generator: Generator) -> Iterator[Texture]:
    for _ in range(0, n_sets, AT_ONCE):
        batch = prior.sample(AT_ONCE, generator)
        for points, mask in zip(batch.points, batch.mask, strict=True):
            texture = texture_of(points[mask].numpy())
            if texture is not None:
                yield texture


def _least_kurtosis(points: NDArray[np.float64]) -> float:
    squares = np.square(points - points.mean(0))
    return float((np.square(squares).mean(0) / np.square(squares.mean(0))).min())
