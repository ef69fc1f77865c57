"""The adjusted Rand index between all partitions of a set at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Members = NDArray[np.float32]


def members_of(labels: NDArray[np.integer]) -> tuple[Members, NDArray[np.intp]]:
    """Indicators (n, S) of all clusters of partitions (C, n), and whose each is (S,)."""
    ks = labels.max(1) + 1
    first = np.concatenate([[0], ks.cumsum()[:-1]])
    members = np.zeros((labels.shape[1], int(ks.sum())), dtype=np.float32)
    rows = np.arange(labels.shape[1])
    for start, own in zip(first, labels, strict=True):
        members[rows, start + own] = 1.0
    return members, np.repeat(np.arange(len(labels)), ks)


def agreements(members: Members, owner: NDArray[np.intp]) -> NDArray[np.float64]:
    """The adjusted Rand index (Hubert, Arabie 1985) of each two partitions: (C, C).

    members (n, S) and owner (S,) as of `members_of`.
    """
    together = _together(members, owner, members, owner)
    own = together.diagonal()
    return _adjusted(together, own, own, len(members))


def agreements_between(
    labels: NDArray[np.integer], others: NDArray[np.integer]
) -> NDArray[np.float64]:
    """The same of each of A partitions (A, n) and each of B others (B, n): (A, B)."""
    one, other = members_of(labels), members_of(others)
    pairs, other_pairs = (
        np.add.reduceat(_pairs(members.sum(0, dtype=np.float64)), starts_of(owner))
        for members, owner in (one, other)
    )
    return _adjusted(_together(*one, *other), pairs, other_pairs, labels.shape[1])


def _together(
    members: Members, owner: NDArray[np.intp], others: Members, other_owner: NDArray[np.intp]
) -> NDArray[np.float64]:
    """How many pairs of rows are in one cluster in both of two partitions: (A, B)."""
    pairs = _pairs((members.T @ others).astype(np.float64))
    by_one = np.add.reduceat(pairs, starts_of(owner), 0)
    return np.asarray(np.add.reduceat(by_one, starts_of(other_owner), 1))


def _adjusted(
    together: NDArray[np.float64],
    own: NDArray[np.float64],
    other: NDArray[np.float64],
    n_rows: int,
) -> NDArray[np.float64]:
    """The index of pairs in common (A, B), given the pairs of each partition: (A,) and (B,)."""
    expected = own[:, None] * other / _pairs(n_rows)
    most = (own[:, None] + other) / 2
    # Two partitions that are both one cluster, or both all singletons, agree fully.
    flat = most - expected <= 1e-9 * np.maximum(most, 1)
    return np.where(flat, 1.0, (together - expected) / np.where(flat, 1.0, most - expected))


def _pairs(sizes: Any) -> Any:
    return sizes * (sizes - 1) / 2


def starts_of(owner: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where the clusters of each partition begin: owner (S,) -> (C,)."""
    return np.searchsorted(owner, np.arange(int(owner[-1]) + 1))
