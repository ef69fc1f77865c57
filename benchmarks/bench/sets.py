"""The sets of a benchmark, and the oracle's answer to each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.functional.em import Gaussians, expectation

# Training seeds are small integers combined with the step; these are hashed with this name as a
# prefix. The hash has 32 bits because torch's CPU generator reads no more of a seed.
STREAM = int.from_bytes(b"coterie.bench")
SETS_PER_DRAW = 50


class Oracle(NamedTuple):
    """The ceiling: labels (n,) by the true posterior, mean log-likelihood of the true mixture."""

    labels: NDArray[np.intp]
    log_likelihood: float


@dataclass(frozen=True)
class LabelledSet:
    """One set without padding: points (n, D), labels (n,), the oracle if there is a density.

    A label of -1 is noise: the point is part of the set, but its label is not scored. of_pixels:
    whether points are images, whose likelihood is that of a pixel; gaussian: whether clusters are
    Gaussians, so that labels alone have a likelihood.
    """

    points: NDArray[np.float32]
    labels: NDArray[np.intp]
    oracle: Oracle | None
    of_pixels: bool = False
    gaussian: bool = True

    @property
    def n_clusters(self) -> int:
        """The true number of clusters, noise not counted."""
        return len(np.unique(self.labels[self.labels >= 0]))


@dataclass(frozen=True)
class Setting:
    """A kind of sets: the prior, how to draw from it, and the largest k that the peers try.

    name: what distinguishes settings of the same sizes.
    """

    prior: Any  # a frozen dataclass with n_max and k_max
    draw: Callable[[int, Generator], list[LabelledSet]]
    k_limit: int
    name: str = ""

    @property
    def title(self) -> str:
        """The setting as the papers write it."""
        sizes = f"({self.prior.n_max}, {self.prior.k_max})"
        return f"{sizes} {self.name}".strip()


def unpad(batch: SetBatch, mixture: Gaussians | None = None) -> list[LabelledSet]:
    """The sets of a labelled batch; mixture: the batch of mixtures they were drawn from."""
    if batch.labels is None:
        raise ValueError("a benchmark needs sets with labels")
    sets = []
    for number, mask in enumerate(batch.mask):
        points = batch.points[number][mask]
        knowledge = None
        if mixture is not None:
            knowledge = consult(points, Gaussians(*(part[number] for part in mixture)))
        labels = batch.labels[number][mask].numpy()
        sets.append(LabelledSet(points.numpy(), labels, knowledge))
    return sets


def consult(points: Tensor, mixture: Gaussians) -> Oracle:
    """The oracle of one set: points (n, D) and the true mixture, with the weights as drawn."""
    truth = Gaussians(*(part.double() for part in mixture))
    log_posterior, log_likelihood = expectation(points.double(), truth)
    return Oracle(log_posterior.argmax(1).numpy(), float(log_likelihood.mean()))


def draw_sets(setting: Setting, n_sets: int, seed: int) -> list[LabelledSet]:
    """The first n_sets sets of a setting and a seed; they do not depend on n_sets otherwise."""
    names = (STREAM, seed, setting.prior.n_max, setting.prior.k_max)
    hashed = np.random.SeedSequence(names).generate_state(1)[0]
    generator = Generator().manual_seed(int(hashed))
    sets: list[LabelledSet] = []
    while len(sets) < n_sets:
        sets += setting.draw(SETS_PER_DRAW, generator)
    return sets[:n_sets]
