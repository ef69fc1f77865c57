"""What more training did to the universal models: real tables, the public suite, fresh sets.

Every model answers every set as `AMCP(weights).fit` does, k unknown, at most 900 rows of a table.
Differences are paired: the same sets, the same rows. Answers are kept in a file, a line a set, so
that a run goes on where it was stopped and models are added later.

    COTERIE_DATA=... python benchmarks/before_after.py answers.jsonl amcp-universal new.safetensors
        [--groups train validation suite families tables] [--sets 20]
"""

import argparse
import csv
import json
import math
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from bench.held_out import held_out_sets
from bench.suite import FILE as SUITE
from bench.suite import read_suite
from coterie import AMCP
from coterie.data.priors.real_tables import FILE, FOLDER, INDEX
from coterie.data.priors.tables import Tables

ROWS = 900
SEED = 90_210
GROUPS = ("train", "validation", "suite", "families", "tables")


class Given(NamedTuple):
    """A set: points (n, d), labels (n,) with -1 for noise; parts: the groups that it counts in."""

    name: str
    parts: tuple[str, ...]
    points: NDArray
    labels: NDArray


def real_tables(split: str) -> Iterator[Given]:
    """The tables of a split, of longer ones a fixed sample of rows."""
    folder = Path(os.environ[FOLDER])
    with (folder / INDEX).open(newline="") as index, np.load(folder / FILE) as file:
        for row in csv.DictReader(index):
            if row["split"] != split:
                continue
            points, labels = file[f"{row['name']}/X"], file[f"{row['name']}/y"]
            if len(points) > ROWS:
                rows = np.random.default_rng(0).choice(len(points), ROWS, replace=False)
                points, labels = points[rows], labels[rows]
            seen = "seen" if float(row["given_k_ari"]) > 0.3 else "hardly seen"
            yield Given(row["name"], (split, f"{split}, {seen}"), points, labels)


def suite() -> Iterator[Given]:
    """The public sets; those of at most 30 clusters also as a part of their own."""
    for each in read_suite(Path(os.environ[FOLDER]) / SUITE):
        few = ("suite, k <= 30",) if each.n_clusters <= 30 else ()
        yield Given(each.name, ("suite", *few), each.points, each.labels)


def families(n_sets: int) -> Iterator[Given]:
    """Fresh sets of each family of the universal prior."""
    for each in held_out_sets(n_sets, seed=1):
        yield Given(each.name, ("families", f"family {each.kind}"), each.points, each.labels)


def drawn_tables(n_sets: int) -> Iterator[Given]:
    """Fresh ellipsoids in columns of many kinds; of these, those in 2 to 16 and in more columns."""
    prior = replace(Tables(), few_axes=0.0)
    for number in range(4 * n_sets):
        generator = torch.Generator().manual_seed(SEED + number)
        batch = prior.sample_tables(1, generator)
        assert batch.labels is not None
        mask = batch.mask[0]
        points, labels = batch.points[0, mask].numpy(), batch.labels[0, mask].numpy()
        points = points[:, points.std(0) > 1e-6]
        wide = "tables, > 16 columns" if points.shape[1] > 16 else "tables, <= 16 columns"
        yield Given(f"table {number}", ("tables", wide), points, labels)


def group(name: str, n_sets: int) -> Iterator[Given]:
    """The sets of a group."""
    if name in ("train", "validation"):
        return real_tables(name)
    return {"suite": suite, "families": lambda: families(n_sets)}.get(
        name, lambda: drawn_tables(n_sets)
    )()


def answer(weights: str, given: Given) -> dict[str, Any]:
    """What a model says of a set."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = AMCP(weights, random_state=0).fit_predict(given.points)
    seconds = time.perf_counter() - began
    known = given.labels >= 0
    return {
        "weights": weights,
        "set": given.name,
        "parts": given.parts,
        "ari": float(adjusted_rand_score(given.labels[known], labels[known])),
        "k": len(np.unique(labels[labels >= 0])),
        "true_k": len(np.unique(given.labels[known])),
        "seconds": round(seconds, 3),
    }


def report(lines: list[dict[str, Any]], weights: list[str]) -> str:
    """Means with standard errors, and paired differences to the first of the models."""
    parts = list(dict.fromkeys(part for line in lines for part in line["parts"]))
    found = []
    for part in parts:
        of = {
            name: {x["set"]: x for x in lines if x["weights"] == name and part in x["parts"]}
            for name in weights
        }
        common = sorted(set.intersection(*(set(answers) for answers in of.values())))
        if not common:
            continue
        found.append(f"{part}: {len(common)} sets")
        first = of[weights[0]]
        for name in weights:
            ari = [of[name][key]["ari"] for key in common]
            change = [of[name][key]["ari"] - first[key]["ari"] for key in common]
            off = [abs(of[name][key]["k"] - of[name][key]["true_k"]) for key in common]
            alone = fmean(of[name][key]["k"] <= 1 for key in common)
            found.append(
                f"  {name:44} ARI {fmean(ari):.3f} ± {_error(ari):.3f}"
                f"  change {fmean(change):+.3f} ± {_error(change):.3f}"
                f"  k exact {fmean(o == 0 for o in off):4.0%} within one"
                f" {fmean(o <= 1 for o in off):4.0%} one cluster {alone:4.0%}"
            )
    return "\n".join(found)


def main() -> None:
    """Answer what is not answered yet, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("answers", type=Path)
    parser.add_argument("weights", nargs="+")
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=GROUPS)
    parser.add_argument("--sets", type=int, default=20, help="fresh sets of each family")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lines = []
    if arguments.answers.exists():
        lines = [json.loads(line) for line in arguments.answers.read_text().splitlines()]
    done = {(line["weights"], line["set"]) for line in lines}
    with arguments.answers.open("a") as file:
        for name in arguments.groups:
            for given in group(name, arguments.sets):
                for weights in arguments.weights:
                    if (weights, given.name) in done:
                        continue
                    lines.append(json.loads(json.dumps(answer(weights, given))))
                    file.write(json.dumps(lines[-1]) + "\n")
                    file.flush()
    print(report(lines, arguments.weights))


def _error(values: list[float]) -> float:
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


if __name__ == "__main__":
    main()
