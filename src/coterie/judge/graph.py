"""Partitions of the graph of nearest neighbours, at several k from one embedding."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, svd
from scipy.sparse import coo_matrix, diags, identity
from scipy.sparse.linalg import ArpackError, eigsh
from scipy.spatial import cKDTree

from coterie.judge.arms import Labels, numbered

NEIGHBOURS = 10
MOST = 16  # clusters: each takes an eigenvector
# Ordinary tables need a few restarts. Where nearly all rows are the same, there is no end to them.
RESTARTS = 100


def spectral_cuts(points: NDArray, ks: Sequence[int]) -> list[Labels]:
    """The normalised cut of points (n, m) into each number of clusters up to MOST.

    Neighbours weigh by their distance in units of that to their tenth neighbour (Zelnik-Manor,
    Perona 2004); clusters are read off the eigenvectors by a pivoted QR (Damle et al. 2019), so
    there is no random start.
    """
    ks = [k for k in ks if k <= MOST]
    if not ks or len(points) < 4 * max(ks):
        return []
    try:
        vectors = _embedding(points, max(ks))
    except ArpackError:
        return []
    return [_read_off(vectors[:, :k]) for k in ks]


def _embedding(points: NDArray, n_vectors: int) -> NDArray[np.float64]:
    """The leading eigenvectors of the normalised graph, the first one first: (n, n_vectors)."""
    n_rows = len(points)
    distance, index = cKDTree(points).query(points, k=NEIGHBOURS + 1)
    unit = distance[:, -1] + 1e-9
    weight = np.exp(-(distance[:, 1:] ** 2) / (unit[:, None] * unit[index[:, 1:]]))
    rows = np.repeat(np.arange(n_rows), NEIGHBOURS)
    graph = coo_matrix((weight.ravel(), (rows, index[:, 1:].ravel())), shape=(n_rows, n_rows))
    graph = (graph + graph.T).tocsr()
    scale = diags(1 / np.sqrt(np.asarray(graph.sum(1)).ravel() + 1e-12))
    laplacian = identity(n_rows) - scale @ graph @ scale
    start = np.random.default_rng(0).normal(size=n_rows)
    # Shifted and inverted: a graph in pieces has zero as an eigenvalue several times, and plain
    # iteration finds it once.
    _, vectors = eigsh(
        laplacian.tocsc(), k=n_vectors, sigma=-1e-2, which="LM", v0=start, maxiter=RESTARTS
    )
    return np.asarray(vectors)


def _read_off(vectors: NDArray[np.float64]) -> Labels:
    """The clusters that k eigenvectors (n, k) of a graph indicate."""
    k = vectors.shape[1]
    pivots = qr(vectors.T, pivoting=True, mode="economic")[2]
    left, _, right = svd(vectors[pivots[:k]].T)
    return numbered(np.abs(vectors @ (left @ right.conj())).argmax(1))
