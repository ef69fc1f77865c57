"""CHiGac's Table 1, and DAC's mixtures, beside our other systems, a peer and the Bayes rule.

    python benchmarks/chigac.py [--sets 100] [--weights chigac-mog2d]

s1: 200 points in 4 clusters, s2: 400 points in 6; then up to 1,000 points in up to 4 clusters, and
up to 3,000 in up to 12. CHiGac is trained on up to 200 points and 4 clusters.
"""

import argparse
import json
import math
import shlex
import sys
import time
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from bench.chigac import exact_setting
from bench.machine import describe_machine
from bench.mog import mog_setting
from bench.sets import LabelledSet, Setting, draw_sets
from coterie import metrics
from coterie.comparison.methods import Method, amortized
from coterie.comparison.peers import peers
from coterie.estimators.registry import clusterer

RESULTS = Path(__file__).parent / "results" / "chigac.json"
SHIPPED = "chigac-mog2d"
OTHERS = ("amcp-mog2d", "dac-mog2d")
PEER = "BayesianGaussianMixture"  # variational inference, the paper's VI
SETTINGS = (
    exact_setting(200, 4, "s1"),
    exact_setting(400, 6, "s2"),
    mog_setting(1000, 4, k_limit=8),
    mog_setting(3000, 12, k_limit=16),
)
PAPER = {
    "s1": {"MCMC": 0.9566, "VI": 0.9432, "DAC": 0.9623, "NCP": 0.9531, "CHiGac": 0.9698},
    "s2": {"MCMC": 0.9331, "VI": 0.9244, "DAC": 0.9421, "NCP": 0.9233, "CHiGac": 0.9426},
}


def main(arguments: Sequence[str] | None = None, results: Path = RESULTS) -> None:
    """Score every method on every setting, print the table and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weights", default=SHIPPED)
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    table = {}
    for setting in SETTINGS:
        sets = draw_sets(setting, given.sets, given.seed)
        table[setting.title] = rows = measure(setting, sets, given.weights)
        for name, row in rows.items():
            print(f"{setting.title:14} {name:26} {in_words(row)}", flush=True)
    told = sys.argv[1:] if arguments is None else arguments
    kept = {
        "command": shlex.join(["python", "benchmarks/chigac.py", *told]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "n_sets": given.sets,
        "settings": table,
        "printed": {"source": "paper: CHiGac Table 1, ACC", **PAPER},
    }
    results.write_text(json.dumps(kept, indent=1) + "\n")


def measure(setting: Setting, sets: Sequence[LabelledSet], weights: str) -> dict[str, Any]:
    """The scores of every method on some sets, and of the Bayes rule."""
    methods = [_ours(name) for name in (weights, *OTHERS)]
    methods += [peer for peer in peers(setting.k_limit) if peer.name == PEER]
    rows = {"Bayes rule": _row([_scores(each, each.oracle.labels) for each in sets if each.oracle])}
    for method in methods:
        runs = []
        for each in sets:
            start = time.perf_counter()
            labels = method.cluster(each.points).labels
            seconds = time.perf_counter() - start
            runs.append({**_scores(each, labels), "seconds": seconds})
        rows[method.name] = _row(runs)
    return rows


def _ours(weights: str) -> Method:
    return amortized(weights, clusterer(weights, random_state=0))


def _scores(given: LabelledSet, labels: Any) -> dict[str, float]:
    return {
        "acc": metrics.accuracy(given.labels, labels),
        "ari": metrics.ari(given.labels, labels),
        "k_mae": float(metrics.k_error(given.labels, labels)),
        "dbi": metrics.dbi(given.points, labels),
    }


def _row(runs: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Means, and the standard error of ACC; an index that some set does not have leaves it out."""
    known = {name: [run[name] for run in runs if not math.isnan(run[name])] for name in runs[0]}
    means = {name: fmean(values) if values else math.nan for name, values in known.items()}
    accuracies = [run["acc"] for run in runs]
    error = stdev(accuracies) / len(runs) ** 0.5 if len(runs) > 1 else None
    return {**means, "acc_standard_error": error}


def in_words(row: dict[str, Any]) -> str:
    """One line of the table."""
    error = "" if row["acc_standard_error"] is None else f" ± {row['acc_standard_error']:.3f}"
    seconds = f", {row['seconds']:.3f} s" if "seconds" in row else ""
    return (
        f"ACC {row['acc']:.3f}{error}, ARI {row['ari']:.3f}, k-MAE {row['k_mae']:.2f},"
        f" DBI {row['dbi']:.3f}{seconds}"
    )


if __name__ == "__main__":
    main()
