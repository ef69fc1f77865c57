"""Whether a mixture of Gaussians describes a set, and its components are clusters.

Many Gaussians can approximate any shape. They are taken for the clusters of a set only if points
drawn from the mixture cannot be told from those of the set, by their nearest neighbours (Schilling
1986) and by their distances from the centres (Kolmogorov and Smirnov), and if every component holds
points that hardly any other claims: those that approximate a ring or heavy tails overlap.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from coterie.mixtures.gaussians import Array, FullMixture
from coterie.mixtures.search import MixtureFit

N_NEIGHBOURS = 5
TESTED_POINTS = 1_500
# The share of a point's neighbours that come from its own sample is one half where the samples are
# alike. Too small a share: the mixture follows single points.
ALIKE = (0.45, 0.515)
TOO_DIFFERENT = 0.53  # a search that begins with such a share never ended with samples alike
# Of the distances, times the root of the number of points: the limit for one draw in thirty, and
# what it grows by for each coordinate of a centre per point, because the mixture was fitted to the
# same points.
FARTHEST_APART = 1.4
BY_FITTING = 0.5
LEAST_OWN = 0.9  # the mean probability with which the points of a component belong to it
N_DRAWS = 4
MOST_TREE_COLUMNS = 8  # in more, a tree of 3,000 points takes longer than all distances
LEAF = 32  # points; in 8 columns a search takes three quarters of that with leaves of 16


def describes(points: Array, fit: MixtureFit, *, seed: int = 0) -> bool:
    """Whether the mixture describes the points (N, D) to which it was fitted.

    The draws are compared by neighbours last: that takes longest, and few mixtures of sets of
    other shapes come so far.
    """
    if least_own(fit.responsibilities) < LEAST_OWN:
        return False
    generator = np.random.default_rng(seed)
    n_tested = min(len(points), TESTED_POINTS)
    tested, drawn = [], []
    for _ in range(N_DRAWS):
        tested.append(points[generator.choice(len(points), n_tested, replace=False)])
        drawn.append(draw(fit.mixture, n_tested, generator))
    if distances_apart(points, np.concatenate(drawn), fit.mixture) >= 1:
        return False
    shares = [neighbour_shares(*samples) for samples in zip(tested, drawn, strict=True)]
    of_set, of_draws = np.mean(shares, 0)
    low, high = ALIKE
    return bool(low < of_set < high and of_draws < high)


def is_too_different(points: Array, mixture: FullMixture, *, seed: int = 0) -> bool:
    """Whether points (N, D) are so unlike draws that fewer components cannot describe them."""
    generator = np.random.default_rng(seed)
    n_tested = min(len(points), TESTED_POINTS)
    tested = points[generator.choice(len(points), n_tested, replace=False)]
    return max(neighbour_shares(tested, draw(mixture, n_tested, generator))) > TOO_DIFFERENT


def least_own(responsibilities: Array) -> float:
    """The least mean probability of a component for the points that fall to it: (N, K) -> ()."""
    labels, n_clusters = responsibilities.argmax(1), responsibilities.shape[1]
    mass = np.bincount(labels, responsibilities.max(1), n_clusters)
    return float((mass / np.maximum(np.bincount(labels, minlength=n_clusters), 1)).min())


def draw(mixture: FullMixture, n_points: int, generator: np.random.Generator) -> Array:
    """Points of a mixture: (n_points, D)."""
    weight = np.exp(mixture.log_weight - mixture.log_weight.max())
    component = generator.choice(mixture.n_clusters, n_points, p=weight / weight.sum())
    drawn = generator.standard_normal((n_points, mixture.mean.shape[1]))
    factor = np.linalg.cholesky(mixture.covariance)
    for number in range(mixture.n_clusters):
        own = component == number
        drawn[own] = drawn[own] @ factor[number].T + mixture.mean[number]
    return drawn


def expected_ari(responsibilities: Array, *, seed: int = 0) -> float:
    """The mean agreement of the most probable labels with labels drawn from (N, K)."""
    uniform = np.random.default_rng(seed).uniform(size=(N_DRAWS, len(responsibilities), 1))
    drawn = (uniform > responsibilities.cumsum(1)[None, :, :-1]).sum(2)
    labels, n_clusters = responsibilities.argmax(1), responsibilities.shape[1]
    return float(np.mean([_ari(each, labels, n_clusters) for each in drawn]))


def distances_apart(points: Array, drawn: Array, mixture: FullMixture) -> float:
    """How far the distances from the centres are from those of draws, in units of the limit.

    points (N, D), drawn (M, D). The largest gap between the two cumulative distributions, which a
    limit for chance divides.
    """
    own, other = (np.sort(_distances(each, mixture)) for each in (points, drawn))
    both = np.concatenate([own, other])
    of_own, of_other = (each.searchsorted(both, "right") / len(each) for each in (own, other))
    gap = float(np.abs(of_own - of_other).max()) * math.sqrt(len(points))
    return gap / (FARTHEST_APART + BY_FITTING * mixture.mean.size / math.sqrt(len(points)))


def neighbour_shares(one: Array, other: Array) -> tuple[float, float]:
    """The mean share of neighbours from the same sample, for each of two samples (n, D)."""
    both = np.concatenate([one, other])
    of_other = np.arange(len(both)) >= len(one)
    near = _neighbours(both)
    # A point is its own neighbour, or else there are points of its own sample at the same place.
    same = ((of_other[near] == of_other[:, None]).sum(1) - 1) / N_NEIGHBOURS
    return float(same[~of_other].mean()), float(same[of_other].mean())


def _neighbours(points: Array) -> NDArray[np.intp]:
    """The nearest neighbours of points (n, D), themselves among them: (n, N_NEIGHBOURS + 1)."""
    number = N_NEIGHBOURS + 1
    if points.shape[1] <= MOST_TREE_COLUMNS:
        near: NDArray[np.intp] = cKDTree(points, leafsize=LEAF).query(points, number)[1]
        return near
    from sklearn.neighbors import NearestNeighbors  # slow, and needed by a fit alone

    search = NearestNeighbors(n_neighbors=number, algorithm="brute").fit(points)
    near = search.kneighbors(points, return_distance=False)
    return near


def _ari(one: NDArray[np.intp], other: NDArray[np.intp], n_clusters: int) -> float:
    """The adjusted Rand index of labels (N,) 0..K-1, by the pairs that are together in both."""
    table = np.bincount(one * n_clusters + other, minlength=n_clusters**2).astype(np.float64)
    table = table.reshape(n_clusters, n_clusters)

    def pairs(sizes: Array) -> float:
        return float((sizes * (sizes - 1)).sum()) / 2

    both, of_one, of_other = pairs(table), pairs(table.sum(1)), pairs(table.sum(0))
    chance = of_one * of_other / max(pairs(np.array([len(one)])), 1)
    most = (of_one + of_other) / 2
    return 1.0 if most == chance else (both - chance) / (most - chance)


def _distances(points: Array, mixture: FullMixture) -> Array:
    """Squared distances of points (n, D) from the centre of their component, in its units: (n,)."""
    whitening = np.linalg.inv(np.linalg.cholesky(mixture.covariance))
    squares = np.stack(
        [
            np.square((points - mean) @ each.T).sum(1)
            for mean, each in zip(mixture.mean, whitening, strict=True)
        ]
    )
    log_det = np.log(np.diagonal(whitening, axis1=1, axis2=2)).sum(1)
    joint = (mixture.log_weight + log_det)[:, None] - squares / 2
    distances: Array = np.take_along_axis(squares, joint.argmax(0)[None], 0)[0]
    return distances
