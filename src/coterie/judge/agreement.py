"""The adjusted Rand index between all partitions of a set at once."""

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
    n_rows = len(members)
    both = (members.T @ members).astype(np.float64)
    starts = starts_of(owner)
    pairs = both * (both - 1) / 2
    together = np.add.reduceat(np.add.reduceat(pairs, starts, 0), starts, 1)
    own = together.diagonal()
    expected = own[:, None] * own / (n_rows * (n_rows - 1) / 2)
    most = (own[:, None] + own) / 2
    # Two partitions that are both one cluster, or both all singletons, agree fully.
    flat = most - expected <= 1e-9 * np.maximum(most, 1)
    return np.where(flat, 1.0, (together - expected) / np.where(flat, 1.0, most - expected))


def starts_of(owner: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where the clusters of each partition begin: owner (S,) -> (C,)."""
    return np.searchsorted(owner, np.arange(int(owner[-1]) + 1))
