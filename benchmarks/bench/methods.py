"""The methods besides the peers that choose k: our models, and a method that is given k."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import SpectralClustering

from bench.models import CALLED, estimator, has_density
from coterie.comparison.methods import Answer, Method, amortized
from coterie.estimators.registry import clusterer

NEIGHBOURS = 10


def ours(weights: Sequence[str | Path]) -> tuple[Method, ...]:
    """Shipped models or weights files; those with a density, with and without consolidation.

    The samples of large sets are seeded, as the peers are, so results are reproducible.
    """
    methods = []
    for each in weights:
        name = str(each)
        methods.append(amortized(name, clusterer(each, random_state=0)))
        if has_density(each):
            raw = estimator(each, "network", random_state=0)
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

    details = f"told the true k; graph of {NEIGHBOURS} nearest neighbours"
    return Method("spectral clustering, told k", details, cluster)
