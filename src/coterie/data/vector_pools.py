"""Pools of labelled vectors from which the sets of an episode are drawn.

As the pools of images (`data/pools.py`): one side of a public collection, to train on or to be
tested on.
"""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.data.collections import data_folder

R8 = ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade")


class VectorPool(NamedTuple):
    """Vectors (n, D) sorted by class, the vectors of each class (K,), and the classes' names."""

    vectors: NDArray[np.float32]
    counts: NDArray[np.int64]
    class_names: tuple[str, ...]


@cache
def open_vectors(name: str) -> VectorPool:
    """A pool by name, read from the folder in COTERIE_DATA."""
    if name not in VECTOR_POOLS:
        raise ValueError(f"unknown pool {name!r}; known: {', '.join(sorted(VECTOR_POOLS))}")
    return VECTOR_POOLS[name](data_folder(name))


def _activities(folder: Path, *, train: bool) -> VectorPool:
    """Windows of movement of 21 or 9 persons: 561 features between -1 and 1, 6 activities."""
    with np.load(folder / "har_smartphone.npz") as file:
        side = file["train"] == train
        vectors, labels = file["features"][side].astype(np.float32), file["y"][side]
        names = [str(name) for name in file["class_names"]]
    return _by_class(vectors, labels.astype(np.int64), names)


def _reports(folder: Path, *, train: bool) -> VectorPool:
    """Documents of R8, the eight topics of Reuters-21578: TF-IDF of 2,000 stems, of length one."""
    with np.load(folder / "reuters21578.npz") as file:
        names = [str(name) for name in file["topic_names"]]
        wanted = np.array([names.index(topic) for topic in R8])
        rows = np.flatnonzero((file["train"] == train) & np.isin(file["y"], wanted))
        starts, ends = file["indptr"][:-1][rows], file["indptr"][1:][rows]
        terms, counts, document = file["indices"], file["counts"], file["df"]
        rarity = np.log(len(file["y"]) / document) + 1
        labels = np.searchsorted(np.sort(wanted), file["y"][rows])
    vectors = np.zeros((len(rows), len(rarity)), dtype=np.float32)
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        vectors[row, terms[start:end]] = counts[start:end]
    vectors *= rarity.astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12)
    return _by_class(vectors, labels, [names[topic] for topic in np.sort(wanted)])


def _by_class(
    vectors: NDArray[np.float32], labels: NDArray[np.int64], names: list[str]
) -> VectorPool:
    order = np.argsort(labels, kind="stable")
    return VectorPool(vectors[order], np.bincount(labels, minlength=len(names)), tuple(names))


VECTOR_POOLS: dict[str, Callable[[Path], VectorPool]] = {
    "har-train": partial(_activities, train=True),
    "har-test": partial(_activities, train=False),
    "reuters-train": partial(_reports, train=True),
    "reuters-test": partial(_reports, train=False),
}
