"""Peers on the same rows as the judge's evaluation: a line of JSON for each set.

COTERIE_DATA=... PYTHONPATH=benchmarks python -m judge.peers OUT.jsonl [--suite]
"""

import json
import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from coterie.comparison.peers import (
    ALL_COVARIANCES,
    gaussian_mixture_bic,
    hdbscan,
    kmeans_silhouette,
)
from coterie.frames.standard import fit_standard
from coterie.judge.views import turn
from judge.episodes import Job, draw, suite_names, validation_names

K_LIMIT = 15
AXES = 10


def main() -> None:
    """Score every peer on every set, then print their means."""
    warnings.simplefilter("ignore")
    folder = os.environ["COTERIE_DATA"]
    jobs = [Job("whole", name, 0) for name in validation_names(folder)]
    if "--suite" in sys.argv:
        jobs = [Job("suite", name, 0) for name in suite_names(folder)]
    everyone: list[dict[str, list]] = []
    with Path(sys.argv[1]).open("w") as out:
        for job in jobs:
            episode = draw(job, folder)
            units = fit_standard(episode.table, 16).in_units(episode.table)
            axes = turn(units, AXES).astype(np.float64)
            k = int(episode.truth.max()) + 1
            k_limit = max(K_LIMIT, k)
            answers = {
                "GMM + BIC, four covariances": gaussian_mixture_bic(axes, k_limit, ALL_COVARIANCES),
                "k-means + silhouette": kmeans_silhouette(units, k_limit),
                "HDBSCAN": hdbscan(units),
                "k-means, told k": KMeans(k, n_init=10, random_state=0).fit_predict(units),
            }
            known = episode.truth >= 0
            scores = {
                name: [
                    adjusted_rand_score(episode.truth[known], labels[known]),
                    int(labels.max()) + 1,
                ]
                for name, labels in answers.items()
            }
            print(json.dumps({"source": job.source, "name": job.name, "k": k, **scores}), file=out)
            out.flush()
            everyone.append(scores)
    for name in everyone[0]:
        print(f"{name:28s} {np.mean([each[name][0] for each in everyone]):.3f}")


if __name__ == "__main__":
    main()
