"""Fresh sets of each family of the universal prior, never drawn in training."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from torch import Generator

from bench.suite import SuiteSet, numbered
from coterie.data.priors.universal import Universal

PRIOR = Universal()
FAMILIES = tuple(name for name, _ in PRIOR.shares)
EMPTY = 1e-4  # a smaller deviation is round-off of an empty column; the others have deviation 1
FAINT = 1e-3


def held_out_seed(seed: int, number: int) -> int:
    """The seed of a set that is never drawn in training.

    Training seeds are (seed * 1,000,003 + step) * 1,009 + rank (`training/trainer.py`), so their
    remainder modulo 1,009 is the rank. The last remainder is used here; it is free unless a
    training runs on 1,009 GPUs. Torch's CPU generator reads 32 bits of a seed, which suffices for
    a million steps of the training seeds 0 to 3; a GPU's generator gives different numbers for the
    same seed.
    """
    return (seed * 1_000_003 + number) * 1_009 + 1_008


def held_out_sets(n_sets: int, seed: int) -> tuple[SuiteSet, ...]:
    """The first n_sets sets of each family; the kind of a set is its family.

    Sets with the same number share a plan: their families differ, but not the planned numbers of
    points and clusters. A set is a table with standardised columns, as the peers expect, not yet
    rotated to its principal axes: standardising those would lose the information in the first ones.
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
    # Renumbered: a cluster may have lost all of its points to the noise.
    labels = numbered(labels, clustered=labels >= 0)
    points = _filled(points[:, points.std(0) > EMPTY], own_seed)
    return SuiteSet(f"{family} {number}", family, points, labels)


def _filled(points: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    """The points (n, d), with noise of 0.001 added if some columns depend linearly on the others.

    Planar shapes are sometimes placed in space. Mixtures reject such tables, and measured tables
    are never exactly flat.
    """
    extent = np.linalg.svd(points - points.mean(0), compute_uv=False)
    if len(extent) == points.shape[1] and extent[-1] > EMPTY * extent[0]:
        return points
    noise = np.random.default_rng(seed).normal(scale=FAINT, size=points.shape)
    return points + noise.astype(np.float32)
