"""Fresh sets of each family of the universal prior, none of which any training has drawn."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from torch import Generator

from bench.suite import SuiteSet, numbered
from coterie.data.priors.universal import Universal

PRIOR = Universal()
FAMILIES = tuple(name for name, _ in PRIOR.shares)
EMPTY = 1e-4  # a smaller deviation is the round-off of an empty column; the others have one
FAINT = 1e-3


def held_out_seed(seed: int, number: int) -> int:
    """The seed of a set that no training draws.

    Those of training are (seed * 1,000,003 + step) * 1,009 + rank (`training/trainer.py`): divided
    by 1,009 they leave the rank, and the last of the remainders is left to us, unless somebody
    trains on 1,009 GPUs. Torch's CPU generator reads 32 bits of a seed, within which the training
    seeds 0 to 3 stay for a million steps; a GPU's makes other numbers of the same seed.
    """
    return (seed * 1_000_003 + number) * 1_009 + 1_008


def held_out_sets(n_sets: int, seed: int) -> tuple[SuiteSet, ...]:
    """As many sets of each family, the kind of a set; fewer are the same sets, only fewer.

    Sets of the same number are planned alike: their families differ, not how many points and
    clusters they ask for. A set is a table with standardised columns, as peers want it, not yet
    turned onto its principal axes: who standardises these loses what is in the first of them.
    """
    if n_sets < 1:
        raise ValueError(f"n_sets must be positive, got {n_sets}")
    return tuple(_draw(family, number, seed) for family in FAMILIES for number in range(n_sets))


def _draw(family: str, number: int, seed: int) -> SuiteSet:
    prior = replace(PRIOR, shares=((family, 1.0),))
    own_seed = held_out_seed(seed, number)
    batch = prior.sample_tables(1, Generator().manual_seed(own_seed))
    assert batch.labels is not None
    there = batch.mask[0]
    points = batch.points[0, there].numpy()
    labels = batch.labels[0, there].numpy()
    # Numbered anew: a cluster may have lost all of its points to the noise.
    labels = numbered(labels, clustered=labels >= 0)
    points = _filled(points[:, points.std(0) > EMPTY], own_seed)
    return SuiteSet(f"{family} {number}", family, points, labels)


def _filled(points: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    """The points (n, d), with a thousandth of noise where some columns follow from the others.

    Shapes of the plane are drawn in space now and then. Mixtures refuse such tables, and no table
    that was measured is quite flat.
    """
    extent = np.linalg.svd(points - points.mean(0), compute_uv=False)
    if len(extent) == points.shape[1] and extent[-1] > EMPTY * extent[0]:
        return points
    noise = np.random.default_rng(seed).normal(scale=FAINT, size=points.shape)
    return points + noise.astype(np.float32)
