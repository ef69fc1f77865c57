"""Overlapping mixtures in 2 to 64 columns: our default and others beside the Bayes rule.

    python benchmarks/overlapping.py [--sets 40] [METHOD ...]

The sets are drawn by `bench/overlapping.py`; k is unknown to every method but the last.
"""

import argparse
import json
import shlex
import sys
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from bench.machine import describe_machine
from bench.overlapping import draw_overlapping
from coterie import AMCP
from coterie.comparison.peers import ALL_COVARIANCES, gaussian_mixture_bic
from coterie.metrics import ari

RESULTS = Path(__file__).parent / "results" / "overlapping.json"
FIRST_SEED = 500
K_LIMIT = 12
# Labels (n,) from standardised columns (n, d) and the true k, which one of the methods may use.
METHODS: dict[str, Callable[[NDArray, int], NDArray]] = {
    "coterie": lambda units, _: AMCP().fit_predict(units),
    "coterie, judge": lambda units, _: AMCP(ending="judge").fit_predict(units),
    "coterie, the network alone": lambda units, _: AMCP(ending="network").fit_predict(units),
    "GaussianMixture + BIC": lambda units, _: gaussian_mixture_bic(units, K_LIMIT, ALL_COVARIANCES),
    "k-means, told k": lambda units, k: KMeans(k, n_init=10, random_state=0).fit_predict(units),
}


def main() -> None:
    """Score every method on every set, print the means and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", metavar="METHOD", help="all by default")
    parser.add_argument("--sets", type=int, default=40)
    arguments = parser.parse_args()
    n_sets, names = arguments.sets, arguments.methods or [*METHODS]
    for unknown in set(names) - set(METHODS):
        parser.error(f"no method {unknown!r}: choose from {', '.join(METHODS)}")
    warnings.simplefilter("ignore")
    sets = [draw_overlapping(np.random.default_rng(FIRST_SEED + n)) for n in range(n_sets)]
    bayes = [ari(each.labels, each.bayes) for each in sets]
    print(f"{'Bayes rule':28} {fmean(bayes):.3f}")
    rows = {}
    for name in names:
        scores, right = [], 0
        for each in sets:
            k = len(np.unique(each.labels))
            labels = METHODS[name](StandardScaler().fit_transform(each.points), k)
            scores.append(ari(each.labels, labels))
            right += len(np.unique(labels)) == k
        behind = [best - own for best, own in zip(bayes, scores, strict=True)]
        error = stdev(behind) / n_sets**0.5
        rows[name] = {
            "ari": fmean(scores),
            "behind": fmean(behind),
            "standard_error": error,
            "k_exact": right / n_sets,
        }
        print(
            f"{name:28} {fmean(scores):.3f}, behind Bayes by {fmean(behind):.3f} +- {error:.3f},"
            f" k exact {right / n_sets:.0%}",
            flush=True,
        )
    kept = {
        "command": shlex.join(["python", "benchmarks/overlapping.py", *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "bayes": fmean(bayes),
        "methods": rows,
    }
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
