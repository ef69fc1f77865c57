"""The methods a user of scikit-learn would try when nobody says how many clusters there are.

Those that search among numbers of clusters are told an upper limit, which our systems are not.
"""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import silhouette_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.preprocessing import scale

from coterie.comparison.methods import Answer, Method

Points = NDArray[np.float32]
Labels = NDArray[np.intp]

SILHOUETTE_POINTS = 1000
ALL_COVARIANCES = ("full", "tied", "diag", "spherical")


def gaussian_mixture_bic(
    points: Points, k_limit: int, covariances: Sequence[str] = ("diag",)
) -> Labels:
    """The mixture of 1..k_limit components and any of the covariances with the lowest BIC.

    One that collapses onto a line of points, which scikit-learn refuses to fit, is no candidate.
    """
    candidates = []
    for covariance in covariances:
        for k in range(1, k_limit + 1):
            mixture = GaussianMixture(k, covariance_type=covariance, random_state=0)
            with suppress(ValueError):
                candidates.append(mixture.fit(points))
    return min(candidates, key=lambda mixture: mixture.bic(points)).predict(points)


def dirichlet_process_mixture(points: Points, k_limit: int, covariance: str = "diag") -> Labels:
    """The variational mixture truncated at k_limit; components without points are no clusters."""
    mixture = BayesianGaussianMixture(
        n_components=k_limit,
        covariance_type=covariance,
        weight_concentration_prior_type="dirichlet_process",
        max_iter=500,
        random_state=0,
    )
    return mixture.fit_predict(points)


def hdbscan(points: Points) -> Labels:
    """HDBSCAN as it comes; noise joins the nearest point that has a cluster.

    As it comes it never finds exactly one cluster: it may call everything noise, which is counted
    as one cluster here.
    """
    labels = HDBSCAN(copy=True).fit_predict(points)
    noise = labels < 0
    if noise.all():
        return np.zeros_like(labels)
    if noise.any():
        _, nearest = KDTree(points[~noise]).query(points[noise])
        labels[noise] = labels[~noise][nearest]
    return labels


def kmeans_silhouette(points: Points, k_limit: int) -> Labels:
    """The k-means of 2..k_limit clusters with the largest silhouette; it cannot say one cluster.

    The silhouette is taken on at most SILHOUETTE_POINTS points, the same for every k.
    """
    size = min(len(points), SILHOUETTE_POINTS)
    sample = np.random.default_rng(0).choice(len(points), size, replace=False)
    candidates = [
        KMeans(k, n_init=10, random_state=0).fit_predict(points) for k in range(2, k_limit + 1)
    ]
    return max(candidates, key=lambda labels: _silhouette(points[sample], labels[sample]))


def peers(k_limit: int, covariances: Sequence[str] = ("diag",)) -> tuple[Method, ...]:
    """The peers, told to look for at most k_limit clusters.

    Mixtures have one of the covariances; the first is that of the variational one.
    """
    limited = partial(_peer, k_limit=k_limit)
    return (
        limited(
            "GaussianMixture + BIC",
            f"{_words(covariances)}, k = 1..{k_limit}, n_init = 1",
            gaussian_mixture_bic,
            covariances=covariances,
        ),
        limited(
            "BayesianGaussianMixture",
            f"{_words(covariances[:1])}, Dirichlet process, n_components = {k_limit},"
            " max_iter = 500",
            dirichlet_process_mixture,
            covariance=covariances[0],
        ),
        _peer("HDBSCAN", "defaults; noise to the cluster of the nearest point", hdbscan),
        limited(
            "k-means + silhouette",
            f"k = 2..{k_limit} (never 1), n_init = 10, silhouette on {SILHOUETTE_POINTS} points",
            kmeans_silhouette,
        ),
    )


def standardised(method: Method) -> Method:
    """The same method on columns of mean zero and variance one."""

    def cluster(points: Points) -> Answer:
        return method.cluster(scale(points.astype(np.float64)))

    return Method(method.name, f"{method.details}; columns standardised", cluster)


def _words(covariances: Sequence[str]) -> str:
    return " or ".join("diagonal" if each == "diag" else each for each in covariances)


def _peer(name: str, details: str, find: Callable[..., Labels], **settings: Any) -> Method:
    def cluster(points: Points) -> Answer:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return Answer(find(points, **settings))

    return Method(name, details, cluster)


def _silhouette(points: Points, labels: Labels) -> float:
    """The mean silhouette, the worst there is where the sample missed all clusters but one."""
    return silhouette_score(points, labels) if len(np.unique(labels)) > 1 else -1.0
