"""What the parts of the universal model are worth: recipes with one part less, and ways to ask.

    for name in base no-blobs ... large; do
        python benchmarks train study-universal-$name --device cuda
    done
    COTERIE_DATA=... python benchmarks/ablations.py runs

The first table is of the recipes `study-universal-*`, short trainings of a small network, on the
public sets and on fresh sets of every family. The second is of the shipped model on the public
sets, the third on tables of more columns than it reads, brought down to fewer before.
"""

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection

import coterie
from bench.held_out import FAMILIES, held_out_sets
from bench.machine import describe_machine
from bench.recipes.universal import RECIPES
from bench.suite import FILE, TABLES, SuiteSet, read_suite
from coterie.training.trainer import WEIGHTS

RESULTS = Path(__file__).parent / "results/ablations.json"
SHIPPED = "amcp-universal"
SEED = 2  # benchmarks have 0, the temperature 1
SETS_A_FAMILY = 20
DRAWS = 3
WIDE = 16  # columns: tables of more are projected

Points = NDArray[np.float32]
Ask = Callable[[Points, int], coterie.AMCP]


def asked(weights: str, **options: Any) -> Ask:
    """A way to ask: the points and a seed to a fitted model."""
    return lambda points, seed: coterie.AMCP(weights, random_state=seed, **options).fit(points)


def surest(points: Points, seed: int) -> coterie.AMCP:
    """The surest of three fits, which see other points of a large set."""
    fits = [asked(SHIPPED)(points, DRAWS * seed + draw) for draw in range(DRAWS)]
    return max(fits, key=lambda fit: float(fit.probabilities_.max(1).mean()))


def score(ask: Ask, sets: Sequence[SuiteSet], seed: int = 0) -> dict[str, float]:
    """Mean ARI, and how often k is exact and within one, among the points that are scored."""
    ari, miss = [], []
    for each in sets:
        there = each.labels >= 0
        found = ask(each.points, seed).labels_[there]
        ari.append(adjusted_rand_score(each.labels[there], found))
        miss.append(abs(len(np.unique(found)) - len(np.unique(each.labels[there]))))
    return {
        "ari": fmean(ari),
        "k_exact": fmean(number == 0 for number in miss),
        "k_within_one": fmean(number <= 1 for number in miss),
    }


def fresh() -> dict[str, list[SuiteSet]]:
    """Fresh sets of every family of the prior."""
    families: dict[str, list[SuiteSet]] = {name: [] for name in FAMILIES}
    for each in held_out_sets(SETS_A_FAMILY, SEED):
        families[each.kind].append(each)
    return families


def networks(folder: Path, public: Sequence[SuiteSet]) -> Iterator[dict[str, Any]]:
    """The recipes that have weights in the folder, on the public sets and on every family."""
    families = fresh()
    for recipe in RECIPES:
        weights = folder / recipe.name / WEIGHTS
        if not weights.is_file():
            print(f"{recipe.name}: no weights at {weights}", file=sys.stderr)
            continue
        ask = asked(str(weights))
        aris = {name: score(ask, sets)["ari"] for name, sets in families.items()}
        yield {"name": recipe.name, **score(ask, public), "families": aris}


def asking(public: Sequence[SuiteSet]) -> Iterator[dict[str, Any]]:
    """The shipped model on the public sets, with other draws and options."""
    for seed in range(DRAWS):
        yield {"name": f"as shipped, `random_state={seed}`", **score(asked(SHIPPED), public, seed)}
    for seed in range(2):
        draws = f"`random_state={DRAWS * seed}` to `{DRAWS * (seed + 1) - 1}`"
        yield {"name": f"the surest of {draws}", **score(surest, public, seed)}
    for size in (500, 1000, 4000):
        yield {"name": f"`context_size={size}`", **score(asked(SHIPPED, context_size=size), public)}


def projecting(public: Sequence[SuiteSet]) -> Iterator[dict[str, Any]]:
    """The shipped model on tables of many columns, as they are and projected before."""
    wide = [each for each in public if each.points.shape[1] > WIDE]
    for load in (load_digits, load_breast_cancer, load_wine):
        table = load()
        name = load.__name__.removeprefix("load_")
        wide.append(SuiteSet(name, TABLES, table.data, table.target))
    ways: dict[str, Callable[[Points], Points]] = {
        "as they are: 16 principal components": lambda points: points,
        "8 principal components": lambda points: _components(points, 8),
        "4 principal components": lambda points: _components(points, 4),
        "16 random directions": lambda points: GaussianRandomProjection(
            WIDE, random_state=0
        ).fit_transform(_standard(points)),
    }
    for name, project in ways.items():
        sets = [replace(each, points=project(each.points)) for each in wide]
        aris = {each.name: score(asked(SHIPPED), [each])["ari"] for each in sets}
        yield {"name": name, "ari": fmean(aris.values()), "sets": aris}


def main(folder: str = "runs") -> None:
    """Print the three tables and keep them."""
    warnings.simplefilter("ignore")
    public = read_suite(Path(os.environ["COTERIE_DATA"]) / FILE, k_max=30)
    found: dict[str, Any] = {
        "command": "python benchmarks/ablations.py runs",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "sets_a_family": SETS_A_FAMILY,
    }
    for title, rows in (
        ("networks", networks(Path(folder), public)),
        ("asking", asking(public)),
        ("projecting", projecting(public)),
    ):
        found[title] = []
        for row in rows:
            print(json.dumps(row), flush=True)
            found[title].append(row)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


def _standard(points: Points) -> Points:
    scaled: Points = StandardScaler().fit_transform(points)
    return scaled


def _components(points: Points, n: int) -> Points:
    """The first n components, turned among one another.

    The model standardises columns, and that would make each of them as wide as the first.
    """
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))
    turned: Points = PCA(n).fit_transform(_standard(points)) @ turn
    return turned


if __name__ == "__main__":
    main(*sys.argv[1:2])
