"""Detection of noise: points that lie far from all others, independently of the network.

A network that assigns every point to a cluster also assigns scattered points, or groups them into
clusters of their own; they also distort the frame of the other points. Noise is therefore detected
twice, both times by the distance to the k-th neighbour, which makes no assumption about the shape
of clusters:

`scattered` detects it before clustering, so that the frame and the clusters are computed from the
remaining points. A point is scattered if it is several times farther from its neighbours than three
quarters of the points are, unless it belongs to a compact group beside the others, which is treated
as a cluster of lower density.

`Spacing` detects it after clustering, among the same points and new ones. Each cluster has a
spacing of its own, so that a sparse cluster beside a dense one is not taken for noise.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from coterie.frames.standard import robust_moments

NEIGHBOUR = 5
TYPICAL = 0.75  # the quantile of neighbour distances that is taken as typical
# A multiple of the typical distance; fewer than 1 % of the points of Gaussian blobs exceed it.
FAR = 4.0
# A group of scattered points is a cluster if it has enough points and is not too wide.
FEWEST, SMALLEST_SHARE = 10, 0.02
LINKED = 1.5  # a multiple of the shorter of two points' neighbour distances
WIDEST = 3.0  # a multiple of the radius of the points that are not scattered

Mask = NDArray[np.bool_]
Distances = NDArray[np.float64]


def scattered(table: NDArray) -> Mask:
    """Which rows of a table (n, d) are far from all others, before clustering: (n,)."""
    numbers = np.asarray(table, dtype=np.float64)
    if len(numbers) <= 2 * NEIGHBOUR:
        return np.zeros(len(numbers), dtype=np.bool_)
    centre, spread = robust_moments(numbers)
    points = (numbers - centre) / np.where(spread > 0, spread, np.inf)
    distances = own_distances(points)
    far = distances > FAR * _typical(distances)
    return far & ~_in_sparse_clusters(points, distances, far)


@dataclass(frozen=True)
class Spacing:
    """The largest neighbour distance allowed in each cluster: m points and their limits."""

    places: cKDTree
    limit: Distances  # (m,), that of the point's cluster

    @classmethod
    def of(cls, points: NDArray, labels: NDArray[np.integer]) -> "Spacing":
        """The spacing of points (m, D) with labels (m,), none of them scattered."""
        places = cKDTree(points)
        distances = own_distances(places.data)
        limit = np.empty(len(distances))
        for cluster in np.unique(labels):
            own = labels == cluster
            limit[own] = FAR * _typical(distances[own])
        return cls(places, limit)

    def beyond(self, points: NDArray) -> Mask:
        """Which points (M, D) have a k-th neighbour beyond the limit of their nearest neighbour.

        One of the m points counts itself among its neighbours, so it is slightly less likely to be
        noise.
        """
        k = min(NEIGHBOUR, len(self.limit))
        distances, nearest = self.places.query(points, k=[1, k])
        beyond: Mask = distances[:, 1] > self.limit[nearest[:, 0]]
        return beyond


def own_distances(points: Distances) -> Distances:
    """The distance of each point (n, D) to its k-th neighbour among the others: (n,)."""
    k = min(NEIGHBOUR + 1, len(points))  # the first neighbour is the point itself
    distances: Distances = cKDTree(points).query(points, k=[k])[0][:, 0]
    return distances


def _typical(distances: Distances) -> float:
    """The TYPICAL quantile of the non-zero distances; infinite if all are zero."""
    apart = distances[distances > 0]
    return float(np.quantile(apart, TYPICAL)) if len(apart) else np.inf


def _in_sparse_clusters(points: Distances, distances: Distances, far: Mask) -> Mask:
    """Which of the far points (n, D) belong to a compact group beside the others: (n,)."""
    spared = np.zeros_like(far)
    rows = np.flatnonzero(far)
    fewest = max(FEWEST, SMALLEST_SHARE * len(points))
    if len(rows) < fewest:
        return spared
    middle, radius = _extent(points[~far])
    for group in _groups(points[rows], distances[rows]):
        own_middle, own_radius = _extent(points[rows[group]])
        beside = np.linalg.norm(own_middle - middle) > own_radius
        if len(group) >= fewest and beside and own_radius < WIDEST * radius:
            spared[rows[group]] = True
    return spared


def _groups(points: Distances, distances: Distances) -> list[NDArray[np.intp]]:
    """Groups of points (n, D), linked if near relative to both points' neighbour distances."""
    n_points = len(points)
    gaps, neighbours = cKDTree(points).query(points, k=min(NEIGHBOUR + 1, n_points))
    here = np.repeat(np.arange(n_points), neighbours.shape[1])
    there = neighbours.ravel()
    linked = gaps.ravel() <= LINKED * np.minimum(distances[here], distances[there])
    graph = coo_matrix((linked, (here, there)), shape=(n_points, n_points))
    n_groups, group = connected_components(graph, directed=False)
    return [np.flatnonzero(group == number) for number in range(n_groups)]


def _extent(points: Distances) -> tuple[Distances, float]:
    """The median (D,) of points (n, D), and their median distance from it."""
    middle: Distances = np.median(points, 0)
    return middle, float(np.median(np.linalg.norm(points - middle, axis=1)))
