"""The methods besides the peers that choose k: our models, and a method that is given k."""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import SpectralClustering

from bench.models import CALLED, estimator, has_density, has_own_likelihood
from coterie.comparison.methods import Answer, Method, amortized
from coterie.estimators.registry import clusterer

NEIGHBOURS = 10


class ToldK(NamedTuple):
    """A method that is given the true number of clusters; of: the method for a number."""

    name: str
    details: str
    of: Callable[[int], Method]


def ours(weights: Sequence[str | Path], device: str = "cpu") -> tuple[Method, ...]:
    """Shipped models or weights files; those with a density, with and without consolidation.

    The samples of large sets are seeded, as the peers are, so results are reproducible.
    """
    methods = []
    options = {"random_state": 0} if device == "cpu" else {"random_state": 0, "device": device}
    for each in weights:
        name = str(each)
        own = has_own_likelihood(each)
        methods.append(amortized(name, clusterer(each, **options), claims=own))
        if has_density(each):
            raw = estimator(each, "network", **options)
            methods.append(amortized(f"{name}, {CALLED['network']}", raw))
    return tuple(methods)


def told_k(n_clusters: int) -> Method:
    """Spectral clustering that is given the true number of clusters.

    The graph of nearest neighbours is sparse at any size.
    """

    def cluster(points: NDArray[np.float32]) -> Answer:
        model = SpectralClustering(
            n_clusters, affinity="nearest_neighbors", n_neighbors=NEIGHBOURS, random_state=0
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Graph is not fully connected", UserWarning)
            return Answer(model.fit_predict(points).astype(np.intp))

    return Method(SPECTRAL, SPECTRAL_DETAILS, cluster)


SPECTRAL = "spectral clustering, told k"
SPECTRAL_DETAILS = f"told the true k; graph of {NEIGHBOURS} nearest neighbours"
SPECTRAL_TOLD_K = ToldK(SPECTRAL, SPECTRAL_DETAILS, told_k)
