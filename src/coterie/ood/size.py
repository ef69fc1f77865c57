"""Out-of-distribution warnings on the scale, the texture and the number of clusters of a table.

A network without a frame was trained at one scale and origin; a network with a frame was trained
on certain textures of points. Out of distribution both are wrong with high confidence.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator

from coterie.ood.copies import likeness
from coterie.ood.texture import Texture, texture_of

SETS = 2_000
MOST_NUMBERS = 4e7  # of all sets together: of large sets, such as images, fewer are drawn
TAIL_SHARE = 1e-3  # of the training sets, beyond each end of the span
ROOM = 2.5  # factor beyond the span before there is a warning
ALIKE = 0.85  # likeness of parts and whole, that of samples of one set

UNLIKE = "the data look unlike the training sets"
COMPARE = "clusters and confidence may be wrong, compare them with another method"


class Span(NamedTuple):
    """The range of the sizes of training sets."""

    low: float
    high: float


def size_of(points: NDArray) -> float:
    """The root mean square of the coordinates (n, D), which measures scale and offset."""
    return float(np.sqrt(np.mean(np.square(points, dtype=np.float64))))


def sizes_of(prior: Any, seed: int = 0) -> Span:
    """The span of the sizes of a prior's sets, without the rarest."""
    one = prior.sample(1, Generator().manual_seed(seed)).points.numel()
    n_sets = min(SETS, max(1, int(MOST_NUMBERS / one)))
    batch = prior.sample(n_sets, Generator().manual_seed(seed))
    count = batch.mask.sum(1).clamp_min(1) * batch.points.shape[-1]
    square = torch.where(batch.mask[..., None], batch.points, 0.0).double().square().sum((1, 2))
    low, high = torch.quantile(
        (square / count).sqrt(), torch.tensor([TAIL_SHARE, 1 - TAIL_SHARE]).double()
    )
    return Span(float(low), float(high))


def size_warnings(points: NDArray, sizes: Span | None) -> tuple[str, ...]:
    """A warning if points (n, D) are far larger or smaller than those of training."""
    if sizes is None:
        return ()
    size, (low, high) = size_of(points), sizes
    if low / ROOM <= size <= high * ROOM:
        return ()
    return (
        f"{UNLIKE}: their root mean square is {size:.3g}, in training it was {low:.3g} to"
        f" {high:.3g}; scale and centre the columns, or use weights that do so, such as"
        " amcp-universal",
    )


def texture_warnings(points: NDArray, limits: Texture | None) -> tuple[str, ...]:
    """A warning if the texture of points (n, D) is unlike that of nearly all training sets."""
    texture = None if limits is None else texture_of(points)
    if limits is None or texture is None:
        return ()
    strange = []
    if texture.spacing > limits.spacing:
        strange.append(
            "most rows have no near neighbour, as in high-dimensional noise (three quarters are"
            f" farther from the nearest row than {texture.spacing:.2g} of the mean distance, in"
            f" training seldom more than {limits.spacing:.2g})"
        )
    if texture.evenness < limits.evenness:
        strange.append(
            "rows are evenly spaced, as on a grid (nearest-neighbour distances vary by"
            f" {texture.evenness:.0%}, in training seldom by less than {limits.evenness:.0%})"
        )
    if texture.tails > limits.tails:
        strange.append(
            "there are far outliers in every direction (the kurtosis is"
            f" {texture.tails:.2g}, in training seldom more than {limits.tails:.2g})"
        )
    if not strange and (likeness(points) or 0.0) > ALIKE:
        strange.append(
            "their parts are copies of the whole, as in a fractal or a uniform distribution, so"
            " that there is no single number of clusters"
        )
    return (f"{UNLIKE}: {', and '.join(strange)}; {COMPARE}",) if strange else ()


def cluster_count_warnings(n_clusters: int, most: int) -> tuple[str, ...]:
    """A warning if there are more clusters than any training set had."""
    if n_clusters <= most:
        return ()
    return (
        f"{UNLIKE}: {n_clusters} clusters were found, training sets had at most {most}; {COMPARE}",
    )
