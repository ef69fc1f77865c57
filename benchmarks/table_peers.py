"""Our models and other methods on the rows of `before_after.py`'s validation tables, k unknown.

The methods get standardised columns, mixtures the first ten principal axes of them, and search for
up to 15 clusters. Beside them: k-means that is told k. Leiden needs `pip install leidenalg`.

    COTERIE_DATA=... python benchmarks/table_peers.py [METHOD ...]

With names of methods only these are measured again, and the others stay as they are stored.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler

from before_after import ROWS, Given, real_tables
from bench.machine import describe_machine
from coterie import AMCP
from coterie.comparison.peers import (
    ALL_COVARIANCES,
    gaussian_mixture_bic,
    hdbscan,
    kmeans_silhouette,
)

RESULTS = Path(__file__).parent / "results" / "table_peers.json"
K_LIMIT = 15
AXES = 10
NEIGHBOURS = 15
# Labels (n,) from standardised columns (n, d) and the true k, which one of the methods may use.
PEERS: dict[str, Callable[[NDArray, int], NDArray]] = {
    "coterie": lambda units, _: AMCP().fit_predict(units),
    "coterie, the network alone": lambda units, _: AMCP(ending="network").fit_predict(units),
    "HDBSCAN": lambda units, _: hdbscan(units),
    "k-means + silhouette": lambda units, _: kmeans_silhouette(units, K_LIMIT),
    "GaussianMixture + BIC": lambda units, _: gaussian_mixture_bic(
        leading(units), K_LIMIT, ALL_COVARIANCES
    ),
    "Leiden": lambda units, _: leiden(leading(units)),
    "k-means, told k": lambda units, k: KMeans(k, n_init=10, random_state=0).fit_predict(units),
}


def leading(units: NDArray) -> NDArray:
    """The first principal axes of standardised columns (n, d), at most AXES of them."""
    axes: NDArray = PCA(min(AXES, *units.shape), random_state=0).fit_transform(units)
    return axes


def leiden(points: NDArray) -> NDArray:
    """Leiden communities of the graph of 15 nearest neighbours, resolution 1, as scanpy's default.

    Edges are weighted by the share of neighbours that their ends have in common.
    """
    import igraph
    import leidenalg

    near = kneighbors_graph(points, min(NEIGHBOURS, len(points) - 1), include_self=True)
    shared = (near @ near.T).multiply(near.maximum(near.T)).tocoo()
    upper = shared.row < shared.col
    graph = igraph.Graph(len(points), np.stack([shared.row, shared.col], 1)[upper].tolist())
    found = leidenalg.find_partition(
        graph,
        leidenalg.RBConfigurationVertexPartition,
        weights=shared.data[upper].tolist(),
        n_iterations=-1,
        seed=0,
    )
    return np.array(found.membership)


def answer(peer: str, given: Given) -> dict[str, Any]:
    """What a method says of a table."""
    units = StandardScaler().fit_transform(np.asarray(given.points, dtype=np.float64))
    known = given.labels >= 0
    true_k = len(np.unique(given.labels[known]))
    began = time.perf_counter()
    labels = PEERS[peer](units, true_k)
    seconds = time.perf_counter() - began
    return {
        "ari": float(adjusted_rand_score(given.labels[known], labels[known])),
        "k": len(np.unique(labels[labels >= 0])),
        "seconds": round(seconds, 3),
    }


def summary(answers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The mean ARI with its standard error, the median time, and every table."""
    scores = [each["ari"] for each in answers.values()]
    error = stdev(scores) / len(scores) ** 0.5 if len(scores) > 1 else None
    return {
        "ari": {"mean": fmean(scores), "standard_error": error},
        "seconds_median": median(each["seconds"] for each in answers.values()),
        "sets": answers,
    }


def main() -> None:
    """Score every method on every table, print the means and keep them for the pages."""
    warnings.simplefilter("ignore")
    tables = list(real_tables("validation"))
    peers = json.loads(RESULTS.read_text())["peers"] if sys.argv[1:] else {}
    for peer in sys.argv[1:] or PEERS:
        peers[peer] = summary({given.name: answer(peer, given) for given in tables})
        print(f"{peer:24} {peers[peer]['ari']['mean']:.3f}", flush=True)
    kept = {
        "command": "python benchmarks/table_peers.py",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "tables": len(tables),
        "rows": ROWS,
        "peers": peers,
    }
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
