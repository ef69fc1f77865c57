"""Many unequal topics in sentence-like embeddings: what our models and HDBSCAN find of them.

A set has 3,000 rows of 384 columns with norm one. Forty topics have random directions and sizes
like Zipf's law: the largest has about 500 rows, the smallest about 26. Rows scatter around their
topic in all directions. UMAP is measured where it is installed (`pip install 'coterie[umap]'`).

    python benchmarks/embeddings.py [--sets 3] [METHOD ...]

With names of methods only these are measured again, and the others stay as they are stored.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.random_projection import GaussianRandomProjection

from bench.machine import describe_machine
from coterie import cluster
from coterie.comparison.peers import gaussian_mixture_bic, kmeans_silhouette

RESULTS = Path(__file__).parent / "results" / "embeddings.json"
ROWS, TOPICS, WIDTH = 3000, 40, 384
ZIPF = 0.8
SCATTER = 1.2  # of a row around its topic, in lengths of the topic's direction
COMMON = 0.5  # the direction that all sentences share
K_LIMIT = 60  # of the methods that search for the number of clusters
LEAST = 10  # rows of a cluster of HDBSCAN


class Topics(NamedTuple):
    """Embeddings (n, 384) of norm one and the topic of each row (n,)."""

    rows: NDArray[np.float64]
    topic: NDArray[np.intp]


def draw(seed: int) -> Topics:
    """A set of embeddings."""
    rng = np.random.default_rng(seed)
    share = np.arange(1, TOPICS + 1) ** -ZIPF
    sizes = np.round(ROWS * share / share.sum()).astype(int)
    topic = rng.permutation(np.repeat(np.arange(TOPICS), sizes))
    shared, centres, scatter = (
        rng.normal(scale=WIDTH**-0.5, size=(n, WIDTH)) for n in (1, TOPICS, len(topic))
    )
    rows = COMMON * shared + centres[topic] + SCATTER * scatter
    return Topics(rows / np.linalg.norm(rows, axis=1, keepdims=True), topic)


def axes(rows: NDArray) -> NDArray:
    """The first fifty principal axes of embeddings."""
    return np.asarray(PCA(50, random_state=0).fit_transform(rows))


def mixed(rows: NDArray) -> NDArray:
    """Sixteen random combinations of the first fifty principal axes."""
    return np.asarray(GaussianRandomProjection(16, random_state=0).fit_transform(axes(rows)))


def umap(rows: NDArray) -> NDArray:
    """Five columns of UMAP."""
    from umap import UMAP

    return np.asarray(UMAP(n_components=5, random_state=0, n_jobs=1).fit_transform(axes(rows)))


def hdbscan(points: NDArray) -> NDArray:
    """HDBSCAN, which leaves noise."""
    return np.asarray(HDBSCAN(min_cluster_size=LEAST, copy=True).fit_predict(points))


METHODS: dict[str, Callable[[NDArray], NDArray]] = {
    "`coterie.cluster(X)`": cluster,
    '`coterie.cluster(X, "amcp-universal-tables")`': lambda x: cluster(x, "amcp-universal-tables"),
    "`coterie.cluster(X, context_size=4000)`": lambda x: cluster(x, context_size=4000),
    "`coterie.cluster(X, n_clusters=(30, 60))`": lambda x: cluster(x, n_clusters=(30, 60)),
    "`coterie.cluster(X, n_clusters=40)`, told k †": lambda x: cluster(x, n_clusters=TOPICS),
    "50 principal axes, mixed into 16, `coterie.cluster`": lambda x: cluster(mixed(x)),
    "HDBSCAN on 16 principal axes": lambda x: hdbscan(PCA(16, random_state=0).fit_transform(x)),
    "HDBSCAN on 50 principal axes": lambda x: hdbscan(axes(x)),
    "HDBSCAN on all columns": hdbscan,
    "k-means on 50 principal axes, told k †": lambda x: KMeans(
        TOPICS, n_init=10, random_state=0
    ).fit_predict(axes(x)),
}
METHODS |= {
    "k-means + silhouette on 50 principal axes": lambda x: kmeans_silhouette(axes(x), K_LIMIT),
    "GaussianMixture + BIC on 50 principal axes": lambda x: gaussian_mixture_bic(axes(x), K_LIMIT),
}
if find_spec("umap"):
    METHODS |= {
        "UMAP to 5 columns, `coterie.cluster`": lambda x: cluster(umap(x)),
        "UMAP to 5 columns, HDBSCAN": lambda x: hdbscan(umap(x)),
    }


def answer(method: str, given: Topics) -> dict[str, Any]:
    """What a method finds in a set; HDBSCAN's noise is scored as a cluster of its own."""
    began = time.perf_counter()
    labels = METHODS[method](given.rows)
    return {
        "ari": float(adjusted_rand_score(given.topic, labels)),
        "k": len(np.unique(labels[labels >= 0])),
        "seconds": round(time.perf_counter() - began, 3),
    }


def main() -> None:
    """Score every method on every set, print the means and keep them for the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=3)
    parser.add_argument("methods", nargs="*", choices=[*METHODS, []], metavar="METHOD")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    stored = json.loads(RESULTS.read_text())["methods"] if given.methods else []
    methods = {each["name"]: each for each in stored}
    for method in given.methods or METHODS:
        answers = [answer(method, draw(seed)) for seed in range(given.sets)]
        methods[method] = {
            "name": method,
            "ari": fmean(each["ari"] for each in answers),
            "k": [each["k"] for each in answers],
            "seconds": median(each["seconds"] for each in answers),
        }
        print(json.dumps(methods[method]), flush=True)
    kept = {
        "command": "python benchmarks/embeddings.py",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "sets": given.sets,
        "methods": [*methods.values()],
    }
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
