"""Whether another draw gives another answer: large tables and sets, each fitted with several seeds.

Seven validation tables of about 5,000 rows and more, seven overlapping mixtures of 20,000 and six
sets of the universal prior of 5,000 to 20,000. Of two seeds: do they find as many clusters, and how
well do their labels agree?

    COTERIE_DATA=... python benchmarks/stability.py [--seeds 5]
"""

import argparse
import csv
import json
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations, count
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Generator

from bench.held_out import FAMILIES, PRIOR, held_out_seed
from bench.machine import describe_machine
from bench.overlapping import draw_overlapping
from coterie import AMCP
from coterie.data.priors.real_tables import FILE, FOLDER, INDEX
from coterie.metrics import ari

RESULTS = Path(__file__).parent / "results" / "stability.json"
FEWEST_ROWS = 4_900
ROWS = 20_000  # of a set that is drawn
FIRST_SEED = 900
OVERLAPPING = 7
OF_PRIOR = FAMILIES[:6]


class Large(NamedTuple):
    """A table or a set: points (n, d), labels (n,) with -1 for noise."""

    name: str
    points: NDArray
    labels: NDArray


def main() -> None:
    """Fit every set with every seed, print the agreement and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = {}
    for each in (*tables(), *overlapping(), *of_prior()):
        sets[each.name] = row = agreement(each, arguments.seeds)
        print(
            f"{each.name:24} k {row['k']} same {row['same_k']:.2f} pairs {row['pairs']:.3f}"
            f" truth {row['truth']:.3f} expected {row['stability']:.3f} {row['seconds']:.1f} s"
        )
    keys = ("same_k", "pairs", "truth", "stability")
    means = {key: fmean(row[key] for row in sets.values()) for key in keys}
    print(means)
    RESULTS.write_text(
        json.dumps(
            {
                "command": "python benchmarks/stability.py",
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "machine": describe_machine(),
                "seeds": arguments.seeds,
                "means": means,
                "sets": sets,
            },
            indent=1,
        )
        + "\n"
    )


def agreement(each: Large, n_seeds: int) -> dict[str, Any]:
    """How the answers of several seeds agree with each other, and with the labels."""
    start = time.perf_counter()
    models = [AMCP(random_state=seed).fit(each.points) for seed in range(n_seeds)]
    seconds = (time.perf_counter() - start) / n_seeds
    ks = [model.n_clusters_ for model in models]
    pairs = list(combinations(models, 2))
    there = each.labels >= 0
    return {
        "k": ks,
        "same_k": fmean(one == other for one, other in combinations(ks, 2)),
        "pairs": fmean(ari(one.labels_, other.labels_) for one, other in pairs),
        "truth": fmean(ari(each.labels[there], model.labels_[there]) for model in models),
        "stability": fmean(model.stability_ for model in models),
        "seconds": round(seconds, 2),
    }


def tables() -> Iterator[Large]:
    """The long validation tables, whole."""
    folder = Path(os.environ[FOLDER])
    with (folder / INDEX).open(newline="") as index, np.load(folder / FILE) as file:
        for row in csv.DictReader(index):
            if row["split"] == "validation" and int(row["n"]) >= FEWEST_ROWS:
                yield Large(row["name"], file[f"{row['name']}/X"], file[f"{row['name']}/y"])


def overlapping() -> Iterator[Large]:
    """Overlapping mixtures of Gaussians."""
    for number in range(OVERLAPPING):
        drawn = draw_overlapping(np.random.default_rng(FIRST_SEED + number), ROWS)
        yield Large(f"mixture {number}", drawn.points, drawn.labels)


def of_prior() -> Iterator[Large]:
    """The first large set of each of some families of the universal prior."""
    for family in OF_PRIOR:
        prior = replace(PRIOR, shares=((family, 1.0),), n_max=ROWS)
        for number in count():
            seed = held_out_seed(FIRST_SEED, number)
            batch = prior.sample_tables(1, Generator().manual_seed(seed))
            assert batch.labels is not None
            there = batch.mask[0]
            if there.sum() >= FEWEST_ROWS:
                break
        yield Large(family, batch.points[0, there].numpy(), batch.labels[0, there].numpy())


if __name__ == "__main__":
    main()
