"""The shipped estimators on whole tables and public sets, cut to 1,000 rows.

    COTERIE_DATA=... PYTHONPATH=benchmarks python -m judge.estimators runs/estimators.jsonl

Writes a line for each set and setting, and prints the means.
"""

import argparse
import json
import os
import time
import warnings
from collections import defaultdict
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from sklearn.metrics import adjusted_rand_score

from coterie import AMCP
from judge.episodes import Job, draw, suite_names, train_names, validation_names

NAMES = {"validation": validation_names, "train": train_names, "suite": suite_names}


def score(estimator: AMCP, job: Job, folder: str) -> dict:
    """What an estimator makes of one set."""
    episode = draw(job, folder)
    start = time.perf_counter()
    estimator.fit(episode.table)
    seconds = time.perf_counter() - start
    known = episode.truth >= 0
    return {
        "ari": float(adjusted_rand_score(episode.truth[known], estimator.labels_[known])),
        "k": int(episode.truth.max()) + 1,
        "found": int(estimator.n_clusters_),
        "expected": estimator.expected_agreement_,
        "seconds": seconds,
    }


def main() -> None:
    """Read the options, fit and print the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", default=os.environ.get("COTERIE_DATA"))
    parser.add_argument("--weights", nargs="+", default=["amcp-universal"])
    parser.add_argument("--endings", nargs="+", default=["network", "auto"])
    parser.add_argument("--parts", nargs="+", choices=NAMES, default=["validation", "suite"])
    args = parser.parse_args()
    if args.data is None:
        parser.error("name the folder of the tables with --data or COTERIE_DATA")
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = defaultdict(list)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with args.out.open("a") as file:
        for part in args.parts:
            source = "suite" if part == "suite" else "whole"
            for name in NAMES[part](args.data):
                for weights in args.weights:
                    for ending in args.endings:
                        estimator = AMCP(weights, ending=ending)
                        row = score(estimator, Job(source, name, 0), args.data)
                        found[part, weights, ending].append(row)
                        row = {"part": part, "set": name, "weights": weights, **row}
                        print(json.dumps({**row, "ending": ending}), file=file, flush=True)
    for (part, weights, ending), rows in found.items():
        ari = np.array([row["ari"] for row in rows])
        off = np.array([abs(row["found"] - row["k"]) for row in rows])
        expected = np.mean([row["expected"] for row in rows])
        seconds = np.median([row["seconds"] for row in rows])
        print(
            f"{part:10s} {weights:22s} {ending:8s} ARI {ari.mean():.3f} +- "
            f"{ari.std(ddof=1) / len(ari) ** 0.5:.3f}, k exact {np.mean(off == 0):.0%}, within one"
            f" {np.mean(off <= 1):.0%}, expected agreement {expected:.3f}, median {seconds:.2f} s"
        )


if __name__ == "__main__":
    main()
