"""Labelled sets of vectors, drawn from a pool of a few classes on the training device."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.data.priors.draws import Draws
from coterie.data.priors.mog import compose
from coterie.data.vector_pools import open_vectors


@dataclass(frozen=True)
class VectorEpisodes:
    """Sets of up to n_max vectors in up to k_max classes of a pool, known to `open_vectors`.

    Sizes and numbers of classes are those of DAC's eq. 13; concentration: of the Dirichlet
    distribution of the classes' shares; scale: by which vectors are multiplied; noise: the
    deviation of what is added to each number, so that few vectors are many.
    """

    pool: str
    n_max: int
    k_max: int
    concentration: int = 5
    scale: float = 1.0
    noise: float = 0.0

    def sample(self, n_sets: int, generator: Generator) -> SetBatch:
        """Labelled sets on the generator's device: points (B, N, D)."""
        bank, draws = _bank(self.pool, generator.device), Draws(generator)
        n_classes = len(bank.starts)
        if self.k_max > n_classes:
            raise ValueError(f"{self.pool} has {n_classes} classes, not {self.k_max}")
        classes = draws.uniform(0, 1, n_sets, n_classes).topk(self.k_max, 1).indices  # (B, K)
        _, labels, mask = compose(
            n_sets, self.n_max, self.k_max, generator, concentration=self.concentration
        )
        of_point = classes.gather(1, labels.clamp_min(0))  # (B, N)
        place = (draws.uniform(0, 1, *of_point.shape) * bank.counts[of_point]).long()
        number = bank.starts[of_point] + torch.minimum(place, bank.counts[of_point] - 1)
        points = self.scale * bank.vectors[number]
        if self.noise:
            points = points + self.noise * draws.normal(*points.shape)
        return SetBatch(torch.where(mask[..., None], points, 0.0), mask, labels)


class _Bank(NamedTuple):
    """A pool on a device: vectors (n, D); starts and counts of its classes (K,)."""

    vectors: Tensor
    starts: Tensor
    counts: Tensor


@lru_cache(maxsize=4)
def _bank(name: str, device: torch.device) -> _Bank:
    pool = open_vectors(name)
    parts = (pool.vectors, np.cumsum(pool.counts) - pool.counts, pool.counts)
    return _Bank(*(torch.from_numpy(np.ascontiguousarray(part)).to(device) for part in parts))
