"""How the points of a set lie, for networks that read every set in a frame of its own.

There units and places tell nothing, and neither does how sure the network is: of strange sets it is
as sure as of its own. So the points are asked, in three numbers that can be said in words.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Generator

SETS = 2_000
AT_ONCE = 100
RARE = 6e-3  # of the training sets: so many lie beyond each limit
# In many columns all distances are much alike: blobs in forty of them are near the limit.
EVENNESS_ROOM = 1.5
FEWEST_ROWS = 100  # of fewer nobody can tell how they lie
FEWEST_PLACES = 3
MOST_ASKED = 1_000  # rows whose nearest neighbour is looked up
SAME_PLACE = 4  # decimals: nearer rows are in one place
FLAT = 1e-6  # of the largest variance: an axis of less has no tails


class Texture(NamedTuple):
    """How points lie; or, as a limit, how they may lie at most and, for evenness, at least.

    spacing: how far three places in four are at least from the nearest other one, in mean distances
    between points; evenness: how much these distances differ, the deviation of their logarithms;
    tails: the kurtosis along the axis that has least of it.
    """

    spacing: float
    evenness: float
    tails: float


def texture_of(points: NDArray) -> Texture | None:
    """The texture of points (n, D); None where there are too few to tell."""
    points = points.astype(np.float64)
    places = np.unique(points.round(SAME_PLACE), axis=0)
    if len(points) < FEWEST_ROWS or len(places) < FEWEST_PLACES:
        return None
    asked = places[:: -(-len(places) // MOST_ASKED)]
    apart = cKDTree(places).query(asked, k=2)[0][:, 1]
    variance = points.var(0)
    return Texture(
        spacing=float(np.quantile(apart, 0.25) / np.sqrt(2 * variance.sum())),
        evenness=float(np.log(apart).std()),
        tails=_least_kurtosis(points[:, variance > FLAT * variance.max()]),
    )


def texture_limits(prior: Any, *, n_sets: int = SETS, seed: int = 0) -> Texture | None:
    """The limits that nearly all sets of a prior keep; None where its sets are too small to tell.

    The prior draws its sets in the frame that the network reads. The network has no say.
    """
    textures = np.array(list(_textures(prior, n_sets, Generator().manual_seed(seed))))
    if not len(textures):
        return None
    spacing, evenness, tails = textures.T
    return Texture(
        spacing=float(np.quantile(spacing, 1 - RARE)),
        evenness=float(np.quantile(evenness, RARE) / EVENNESS_ROOM),
        tails=float(np.quantile(tails, 1 - RARE)),
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
