"""The peers within bounds on the number of clusters, as far as they can be told of any."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture

from coterie.comparison.peers import SILHOUETTE_POINTS, peers
from coterie.playground.wishes import Wishes

K_LIMIT = 10  # how far the peers look that search among numbers of clusters
MIXTURE, PROCESS, KMEANS = (
    "GaussianMixture + BIC",
    "BayesianGaussianMixture",
    "k-means + silhouette",
)
HDBSCAN_TITLE = "HDBSCAN"

Points = NDArray[np.float64]
Labels = NDArray[np.intp]


class Search(NamedTuple):
    """What a peer is told: the numbers of clusters to try, low..high, and whether to leave noise.

    remarks: the wishes that it cannot be told.
    """

    low: int
    high: int
    noise: bool = False
    remarks: tuple[str, ...] = ()


def search_of(title: str, wishes: Wishes) -> Search:
    """The search of a peer that comes as near to the wishes as it can."""
    low, high = wishes.bounds or (1, K_LIMIT)
    if title == KMEANS:  # one cluster has no silhouette, so it is found only where it is wished
        low = max(low, min(2, high))
    noise = wishes.noise and title == HDBSCAN_TITLE
    remarks = []
    if wishes.bounds and title == HDBSCAN_TITLE:
        remarks.append("HDBSCAN does not take a number of clusters")
    if wishes.bounds and title == PROCESS and low > 1:
        remarks.append("BayesianGaussianMixture takes only a maximum number of clusters")
    if wishes.noise and not noise:
        remarks.append(f"{title} does not label noise")
    return Search(low, high, noise, tuple(remarks))


def find_clusters(title: str, points: Points, search: Search) -> Labels:
    """The labels (n,) that a peer gives to points (n, d), -1 for noise."""
    if len(points) < 3:
        raise ValueError(f"{title} needs at least three points")
    high = min(search.high, len(points) - 1)
    if title in (MIXTURE, KMEANS) and search.low > high:
        raise ValueError(f"{title} needs more than {search.low} points for {search.low} clusters")
    if title == HDBSCAN_TITLE and search.noise:
        return HDBSCAN(copy=True).fit_predict(points)
    if search.low == (2 if title == KMEANS else 1) or title in (PROCESS, HDBSCAN_TITLE):
        (method,) = [each for each in peers(high) if each.name == title]
        return method.cluster(points).labels  # type: ignore[arg-type]
    ks = range(search.low, high + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return _mixture(points, ks) if title == MIXTURE else _kmeans(points, ks)


def _mixture(points: Points, ks: range) -> Labels:
    """The mixture with the lowest BIC; `comparison.peers` begins at one component."""
    fitted = [GaussianMixture(k, covariance_type="diag", random_state=0).fit(points) for k in ks]
    return min(fitted, key=lambda mixture: mixture.bic(points)).predict(points)


def _kmeans(points: Points, ks: range) -> Labels:
    """The k-means with the largest silhouette; `comparison.peers` begins at two clusters."""
    size = min(len(points), SILHOUETTE_POINTS)
    sample = np.random.default_rng(0).choice(len(points), size, replace=False)

    def score(labels: Labels) -> float:
        some = labels[sample]
        return silhouette_score(points[sample], some) if len(np.unique(some)) > 1 else -1.0

    found = [KMeans(k, n_init=10, random_state=0).fit_predict(points) for k in ks]
    return max(found, key=score)
