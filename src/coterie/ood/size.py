"""What a network is used to, and whether a table looks like that.

A network that reads columns as they are knows one scale and one origin; one that reads every set in
a frame of its own knows how points lie there. Far from what they know both still answer, with
confidence, and wrongly.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator

from coterie.ood.texture import Texture, texture_of

SETS = 2_000
RARE = 1e-3  # of the training sets: so many lie beyond each end
ROOM = 2.5  # times beyond the ends before anybody is told

UNLIKE = "the data look unlike what the network was trained on"
COMPARE = "its clusters and its confidence may be wrong, compare them with another method"


class Span(NamedTuple):
    """From where to where the sizes of training sets go."""

    low: float
    high: float


def size_of(points: NDArray) -> float:
    """The root of the mean square of the coordinates (n, D): how large, and how far away."""
    return float(np.sqrt(np.mean(np.square(points, dtype=np.float64))))


def sizes_of(prior: Any, seed: int = 0) -> Span:
    """The span of the sizes of a prior's sets, but for the rarest."""
    batch = prior.sample(SETS, Generator().manual_seed(seed))
    count = batch.mask.sum(1).clamp_min(1) * batch.points.shape[-1]
    square = torch.where(batch.mask[..., None], batch.points, 0.0).double().square().sum((1, 2))
    low, high = torch.quantile((square / count).sqrt(), torch.tensor([RARE, 1 - RARE]).double())
    return Span(float(low), float(high))


def unfamiliar(points: NDArray, sizes: Span | None) -> tuple[str, ...]:
    """A remark on points (n, D) that are far larger or smaller than those of training."""
    if sizes is None:
        return ()
    size, (low, high) = size_of(points), sizes
    if low / ROOM <= size <= high * ROOM:
        return ()
    return (
        f"{UNLIKE}: their root mean square is {size:.3g}, in training it was {low:.3g} to"
        f" {high:.3g}; scale and centre the columns, or use weights that do it themselves, as"
        " amcp-universal",
    )


def unfamiliar_texture(points: NDArray, limits: Texture | None) -> tuple[str, ...]:
    """A remark on points (n, D) that lie otherwise than nearly all of training did."""
    texture = None if limits is None else texture_of(points)
    if limits is None or texture is None:
        return ()
    strange = []
    if texture.spacing > limits.spacing:
        strange.append(
            "most rows have no near neighbour, as in noise of many columns (three in four are"
            f" farther from the nearest than {texture.spacing:.2g} of the mean distance between"
            f" rows, in training seldom more than {limits.spacing:.2g})"
        )
    if texture.evenness < limits.evenness:
        strange.append(
            "rows lie at even distances, as on a grid (to the nearest other one these differ by"
            f" {texture.evenness:.0%}, in training seldom by less than {limits.evenness:.0%})"
        )
    if texture.tails > limits.tails:
        strange.append(
            "in every direction some rows are far outside the others (the kurtosis is"
            f" {texture.tails:.2g}, in training seldom more than {limits.tails:.2g})"
        )
    return (f"{UNLIKE}: {', and '.join(strange)}; {COMPARE}",) if strange else ()


def unfamiliar_number(n_clusters: int, most: int) -> tuple[str, ...]:
    """A remark on more clusters than a training set ever had."""
    if n_clusters <= most:
        return ()
    return (
        f"{UNLIKE}: {n_clusters} clusters are found, in training it was {most} at most; {COMPARE}",
    )
