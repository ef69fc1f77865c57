"""A ceiling for clustering: how well a point's cluster is predicted from the labels of the others.

No clustering has more information, so with overlapping clusters this bounds the ARI that can be
reached. It is an estimate: rules trained on a few hundred points are slightly worse than the best
possible rule, and of several rules the best on the set is taken.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import multivariate_normal
from sklearn.neighbors import NearestNeighbors

from bench.suite import SuiteSet
from coterie.metrics import ari

Points = NDArray[np.float64]
Labels = NDArray[np.intp]

NEIGHBOURS = (1, 5, 15)
FOLDS = 10
FLAT = 1e-6  # added to the variances; that of the widest axis is about one


def ceiling(given: SuiteSet) -> float:
    """The ARI of the best predictions, each made from the true clusters of other points."""
    clustered = given.labels >= 0
    points, labels = given.points[clustered].astype(np.float64), given.labels[clustered]
    guesses = [by_neighbours(points, labels, n) for n in NEIGHBOURS]
    return max(ari(labels, guess) for guess in (*guesses, by_gaussians(points, labels)))


def by_neighbours(points: Points, labels: Labels, n_neighbours: int) -> Labels:
    """The majority cluster of each point's nearest neighbours; ties go to the nearest."""
    n_neighbours = min(n_neighbours, len(points) - 1)
    nearest = (
        NearestNeighbors(n_neighbors=n_neighbours).fit(points).kneighbors(return_distance=False)
    )  # (n, neighbours), never the point itself
    votes = np.eye(labels.max() + 1)[labels[nearest]]  # (n, neighbours, k)
    closer = 1 + 0.5 ** np.arange(1, n_neighbours + 1)[:, None] / n_neighbours
    return (votes * closer).sum(1).argmax(1)


def by_gaussians(points: Points, labels: Labels) -> Labels:
    """The most likely Gaussian for each point, estimated without the point's fold."""
    found = np.empty_like(labels)
    fold = np.random.default_rng(0).permutation(len(labels)) % FOLDS
    for number in np.unique(fold):
        asked = fold == number
        found[asked] = _likeliest(points[asked], points[~asked], labels[~asked])
    return found


def _likeliest(asked: Points, points: Points, labels: Labels) -> Labels:
    """The clusters of asked (m, d); covariances have d pseudo-points of the pooled one."""
    n_points, n_columns = points.shape
    known, member = np.unique(labels, return_inverse=True)
    sizes = np.bincount(member)
    means = np.stack([points[member == each].mean(0) for each in range(len(known))])
    offsets = points - means[member]
    pooled = offsets.T @ offsets / n_points + FLAT * np.eye(n_columns)
    log_joint = np.empty((len(asked), len(known)))
    for each, size in enumerate(sizes):
        own = offsets[member == each]
        covariance = (own.T @ own + n_columns * pooled) / (size + n_columns)
        density = multivariate_normal(means[each], covariance, allow_singular=True)
        log_joint[:, each] = np.log(size) + density.logpdf(asked)
    return known[log_joint.argmax(1)]
