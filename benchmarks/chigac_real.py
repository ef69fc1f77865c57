"""CHiGac's Table 2: sets of digits, of activities and of news, k not told.

    COTERIE_DATA=... python benchmarks/chigac_real.py mnist=chigac-mnist har=runs/chigac-har
        [--sets 50] [--points 200 1000]

Weights are given for each collection. The items of the sets are of its test side: images, persons
and documents that no training has seen; of `unseen` the classes are new too (weights trained on
even digits, sets of odd ones). In every set each class is as likely for a point as any other. A
collection that is measured again replaces its former row in results/chigac_real.json.
"""

import argparse
import shlex
import sys
import time
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from bench.machine import describe_machine
from bench.merged import merge
from coterie import CHiGac, metrics
from coterie.data.pools import open_pool
from coterie.data.vector_pools import open_vectors

RESULTS = Path(__file__).parent / "results" / "chigac_real.json"
DOCUMENT_SCALE = 10.0  # as in the recipe: documents are vectors of length one
PRINTED = {"mnist": 0.9796, "reuters": 0.8285, "har": 0.9076}
TOLD = "k-means told k"


class Items(NamedTuple):
    """Items (n, ...) sorted by class, and how many each class has (K,)."""

    items: NDArray[Any]
    counts: NDArray[np.int64]


def images_of(pool: str) -> Items:
    """The images (n, H, W) of a pool."""
    found = open_pool(pool)
    return Items(found.images[:, 0], found.counts)


def vectors_of(pool: str, scale: float = 1.0) -> Items:
    """The vectors (n, D) of a pool, scaled as in training."""
    found = open_vectors(pool)
    return Items(scale * found.vectors, found.counts)


COLLECTIONS = {
    "mnist": lambda: images_of("mnist-test"),
    "even": lambda: images_of("mnist-even-test"),
    "unseen": lambda: images_of("mnist-odd"),
    "har": lambda: vectors_of("har-test"),
    "reuters": lambda: vectors_of("reuters-test", DOCUMENT_SCALE),
}


class Drawn(NamedTuple):
    """A set: items (N, ...) and the classes (N,) they were drawn from."""

    items: NDArray[Any]
    labels: NDArray[np.int64]


def draw_sets(items: Items, n_points: int, n_sets: int, *, any_k: bool) -> list[Drawn]:
    """Sets of all classes, or of any number of them from two on; the same on every call."""
    random = np.random.default_rng(n_points + any_k)
    starts, most = np.cumsum(items.counts) - items.counts, len(items.counts)
    drawn = []
    for _ in range(n_sets):
        k = int(random.integers(2, most + 1)) if any_k else most
        labels = random.choice(most, k, replace=False)[random.integers(k, size=n_points)]
        place = random.integers(items.counts[labels])
        drawn.append(Drawn(items.items[starts[labels] + place], labels))
    return drawn


def measure(weights: str, sets: Sequence[Drawn]) -> dict[str, Any]:
    """The scores of CHiGac, and of k-means on the items as they are, told k."""
    runs: dict[str, list[dict[str, float]]] = {"CHiGac": [], TOLD: []}
    for each in sets:
        began = time.perf_counter()
        found = CHiGac(weights, random_state=0).fit(each.items).labels_
        seconds = time.perf_counter() - began
        runs["CHiGac"].append({**_scores(each, found), "seconds": seconds})
        flat = each.items.reshape(len(each.items), -1).astype(np.float64)
        told = KMeans(len(np.unique(each.labels)), n_init=10, random_state=0).fit_predict(flat)
        runs[TOLD].append(_scores(each, told))
    return {name: _row(scores) for name, scores in runs.items()}


def _scores(given: Drawn, labels: NDArray[Any]) -> dict[str, float]:
    return {
        "acc": metrics.accuracy(given.labels, labels),
        "ari": metrics.ari(given.labels, labels),
        "k_mae": float(metrics.k_error(given.labels, labels)),
    }


def _row(runs: Sequence[dict[str, float]]) -> dict[str, Any]:
    means: dict[str, Any] = {name: fmean(run[name] for run in runs) for name in runs[0]}
    if len(runs) > 1:
        means["acc_standard_error"] = stdev(run["acc"] for run in runs) / len(runs) ** 0.5
    return means


def main(arguments: Sequence[str] | None = None, results: Path = RESULTS) -> None:
    """Score the weights of every collection, print the rows and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", nargs="+", metavar="COLLECTION=WEIGHTS")
    parser.add_argument("--sets", type=int, default=50)
    parser.add_argument("--points", type=int, nargs="+", default=[200, 1000])
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    told = sys.argv[1:] if arguments is None else arguments
    for pair in given.weights:
        name, weights = pair.split("=", 1)
        if name not in COLLECTIONS:
            parser.error(f"unknown collection {name!r}; known: {', '.join(COLLECTIONS)}")
        items = COLLECTIONS[name]()
        rows = {}
        for n_points in given.points:
            for any_k, kind in ((False, "all classes"), (True, "any number of classes")):
                sets = draw_sets(items, n_points, given.sets, any_k=any_k)
                rows[f"N = {n_points}, {kind}"] = found = measure(weights, sets)
                for method, row in found.items():
                    print(f"{name:8} N = {n_points}, {kind}: {method} {in_words(row)}", flush=True)
        kept = {
            "weights": weights,
            "n_sets": given.sets,
            "classes": len(items.counts),
            "command": shlex.join(["python", "benchmarks/chigac_real.py", *told]),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": describe_machine(),
            "settings": rows,
        }
        merge(results, [name], kept)


def in_words(row: dict[str, Any]) -> str:
    """One line of the table."""
    error = f" ± {row['acc_standard_error']:.3f}" if "acc_standard_error" in row else ""
    seconds = f", {row['seconds']:.2f} s" if "seconds" in row else ""
    return f"ACC {row['acc']:.3f}{error}, ARI {row['ari']:.3f}, k-MAE {row['k_mae']:.2f}{seconds}"


if __name__ == "__main__":
    main()
