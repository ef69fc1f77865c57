"""What more training did to the universal models: real tables, the public suite, fresh sets.

Every model answers every set as `AMCP(weights, ending="network")` does, k unknown, at most 900 rows
of a table.
Differences are paired: the same sets, the same rows. Answers are kept in a file, a line a set, so
that a run goes on where it was stopped and models are added later.

    COTERIE_DATA=... python benchmarks/before_after.py answers.jsonl amcp-universal new.safetensors
        [--groups train validation suite families tables] [--sets 20] [--keep]
"""

import argparse
import csv
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from bench.held_out import held_out_sets
from bench.machine import describe_machine
from bench.suite import FILE as SUITE
from bench.suite import read_suite
from coterie import AMCP
from coterie.data.priors.real_tables import FILE, FOLDER, INDEX
from coterie.data.priors.tables import Tables

RESULTS = Path(__file__).parent / "results" / "before_after.json"
ROWS = 900
NOTABLE = 0.01  # a change of the ARI
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
        labels = AMCP(weights, ending="network", random_state=0).fit_predict(given.points)
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


def compare(lines: list[dict[str, Any]], weights: list[str]) -> dict[str, Any]:
    """Each part: its number of sets, and means of each model with the change from the first one."""
    found: dict[str, Any] = {}
    for part in dict.fromkeys(part for line in lines for part in line["parts"]):
        of = {
            name: {x["set"]: x for x in lines if x["weights"] == name and part in x["parts"]}
            for name in weights
        }
        common = sorted(set.intersection(*(set(answers) for answers in of.values())))
        if common:
            first = [of[weights[0]][key] for key in common]
            found[part] = {
                "sets": len(common),
                "models": {
                    name: _means([of[name][key] for key in common], first) for name in weights
                },
            }
    return found


def _means(answers: list[dict[str, Any]], first: list[dict[str, Any]]) -> dict[str, Any]:
    change = [new["ari"] - old["ari"] for new, old in zip(answers, first, strict=True)]
    off = [abs(each["k"] - each["true_k"]) for each in answers]
    return {
        "ari": _estimate([each["ari"] for each in answers]),
        "change": _estimate(change),
        "gained": sum(each > NOTABLE for each in change),
        "lost": sum(each < -NOTABLE for each in change),
        "largest_loss": max(0.0, -min(change)),
        "k_exact": fmean(each == 0 for each in off),
        "k_within_one": fmean(each <= 1 for each in off),
        "one_cluster": fmean(each["k"] <= 1 for each in answers),
    }


def report(lines: list[dict[str, Any]], weights: list[str]) -> str:
    """Means with standard errors, and paired differences to the first of the models."""
    found = []
    for part, compared in compare(lines, weights).items():
        found.append(f"{part}: {compared['sets']} sets")
        for name, means in compared["models"].items():
            ari, change = means["ari"], means["change"]
            found.append(
                f"  {name:44} ARI {ari['mean']:.3f} ± {_shown(ari):.3f}"
                f"  change {change['mean']:+.3f} ± {_shown(change):.3f}"
                f"  k exact {means['k_exact']:4.0%} within one"
                f" {means['k_within_one']:4.0%} one cluster {means['one_cluster']:4.0%}"
            )
    return "\n".join(found)


def main() -> None:
    """Answer what is not answered yet, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("answers", type=Path)
    parser.add_argument("weights", nargs="+")
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=GROUPS)
    parser.add_argument("--sets", type=int, default=20, help="fresh sets of each family")
    parser.add_argument("--keep", action="store_true", help=f"write {RESULTS.name} for the pages")
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
    if arguments.keep:
        kept = {
            "command": f"python benchmarks/before_after.py {' '.join(sys.argv[1:])}",
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": describe_machine(),
            "parts": compare(lines, arguments.weights),
        }
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


def _estimate(values: list[float]) -> dict[str, float | None]:
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    return {"mean": fmean(values), "standard_error": error}


def _shown(estimate: dict[str, float | None]) -> float:
    return math.nan if estimate["standard_error"] is None else estimate["standard_error"]


if __name__ == "__main__":
    main()
