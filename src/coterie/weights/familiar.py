"""What a network is used to, and whether a table looks like that.

A network that reads columns as they are knows one scale and one origin: far from them it still
answers, with confidence, and wrongly.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator

SETS = 2_000
RARE = 1e-3  # of the training sets: so many lie beyond each end
ROOM = 2.5  # times beyond the ends before anybody is told


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
        "the data look unlike what the network was trained on: their root mean square is"
        f" {size:.3g}, in training it was {low:.3g} to {high:.3g}; scale and centre the columns, or"
        " use weights that do it themselves, as amcp-universal",
    )
