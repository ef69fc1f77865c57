"""What the universal model says of its own limits: strange data, and how sure it is of k.

    COTERIE_DATA=... python benchmarks/doubts.py

The first table counts the sets of each kind that are called unlike anything in training. The second
holds the belief in the number of clusters against the truth, on fresh sets of the prior.
"""

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer

import coterie
from bench.held_out import held_out_sets
from bench.machine import describe_machine
from bench.suite import FILE, SuiteSet, read_suite
from coterie.frames.standard import fit_standard
from coterie.inference.context import draw_context
from coterie.ood.size import texture_warnings
from coterie.weights.catalogue import open_model
from fractals import FRACTALS, fractal

RESULTS = Path(__file__).parent / "results/doubts.json"
MODEL = "amcp-universal"
SEED = 3  # benchmarks have 0, the temperature 1, the ablations 2
SETS, FRESH_A_FAMILY, ASKED_A_FAMILY = 40, 125, 20
ROWS = 500
MOST_ROWS = 500  # of the sets whose k is doubted: that takes nine fits
PROBABLE = 0.8

Table = NDArray[np.float64]
Draw = Callable[[np.random.Generator], Table]


def _lattice(rng: np.random.Generator) -> Table:
    side = int(rng.integers(12, 40))
    axis = np.arange(float(side))
    return np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)


def _text(rng: np.random.Generator) -> Table:
    words = np.array([f"word{number}" for number in range(2_000)])
    rows = [" ".join(rng.choice(words, rng.integers(5, 40))) for _ in range(ROWS)]
    return HashingVectorizer(n_features=64).fit_transform(rows).toarray()


def _mostly_constant(rng: np.random.Generator) -> Table:
    table = rng.normal(size=(ROWS, 6))
    return np.where(rng.random(table.shape) < 0.05, table, 0.0)


def _walk(rng: np.random.Generator) -> Table:
    return rng.normal(size=(ROWS, 3)).cumsum(0)


def _fractal(rng: np.random.Generator) -> Table:
    maps = list(FRACTALS.values())
    return fractal(maps[int(rng.integers(len(maps)))], rng)


STRANGE: dict[str, Draw] = {
    "uniform noise in 10 to 16 columns": lambda rng: rng.random((ROWS, rng.integers(10, 17))),
    "lattices": _lattice,
    "random 0/1 tables of 12 columns": lambda rng: rng.integers(0, 2, (ROWS, 12)).astype(float),
    "hashed text": _text,
    "columns that are mostly constant": _mostly_constant,
    "Cauchy noise in 4 columns": lambda rng: rng.standard_cauchy((ROWS, 4)),
    "whole numbers below ten in 6 columns": lambda rng: rng.integers(0, 10, (ROWS, 6)).astype(
        float
    ),
    "one Gaussian in 12 columns": lambda rng: rng.normal(size=(ROWS, 12)),
    "one Gaussian in 3 columns": lambda rng: rng.normal(size=(ROWS, 3)),
    "random walks in 3 columns": _walk,
    "fractals in 2 and 3 columns": _fractal,
}


def is_strange(table: Table) -> bool:
    """Whether `fit` would say that the rows lie as hardly any set of training did."""
    network, card = open_model(MODEL)
    points = fit_standard(table, network.traits.columns)(table)
    context = draw_context(len(points), card.context_size, np.random.RandomState(0)).rows
    return bool(texture_warnings(points[context], card.texture))


def strangeness(public: list[SuiteSet]) -> Iterator[dict[str, Any]]:
    """How many sets of each kind are called strange."""
    fresh = held_out_sets(FRESH_A_FAMILY, SEED)
    kinds: dict[str, list[Table]] = {
        "fresh sets of the prior": [each.points for each in fresh],
        "public sets": [each.points for each in public],
    }
    for name, draw in STRANGE.items():
        kinds[name] = [draw(np.random.default_rng(seed)) for seed in range(SETS)]
    for name, tables in kinds.items():
        found = sum(is_strange(np.asarray(table)) for table in tables)
        yield {"name": name, "sets": len(tables), "strange": found}


class CountBelief(NamedTuple):
    """The number of clusters found, the probability of 0, 1, 2, ... (m,), and the true number."""

    found: int
    probabilities: NDArray[np.float64]
    true: int


def ask(sets: Iterable[SuiteSet], model: coterie.AMCP) -> Iterator[CountBelief]:
    """What a model believes of k, on the sets that are small enough."""
    for given in sets:
        if len(given.points) <= MOST_ROWS:
            model.fit(given.points)
            yield CountBelief(model.n_clusters_, model.k_probabilities_, given.n_clusters)


def belief(asked: Iterable[CountBelief]) -> dict[str, float]:
    """The belief in k against the truth, in means."""
    rows = []
    for found, probabilities, true in asked:
        probability = np.pad(probabilities, (0, max(0, true + 1 - len(probabilities))))
        order = np.argsort(-probability)
        enough = np.searchsorted(probability[order].cumsum(), PROBABLE) + 1
        rows.append(
            {
                "right": found == true,
                "believed": probability[found],
                "surprise": -np.log(max(probability[true], 1e-12)),
                "among_probable": true in order[:enough],
            }
        )
    sure = [row for row in rows if row["believed"] > PROBABLE]
    means = {name: float(fmean(row[name] for row in rows)) for name in rows[0]}
    right = sum(bool(row["right"]) for row in sure)
    return {"sets": len(rows), **means, "sure": len(sure), "sure_and_right": right}


def main() -> None:
    """Print both and keep them."""
    warnings.simplefilter("ignore")
    public = list(read_suite(Path(os.environ["COTERIE_DATA"]) / FILE))
    found: dict[str, Any] = {
        "command": "python benchmarks/doubts.py",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "strange": [],
    }
    for row in strangeness(public):
        print(f"{row['name']:40}{row['strange']:5d} of {row['sets']}", flush=True)
        found["strange"].append(row)
    fresh = held_out_sets(ASKED_A_FAMILY, SEED)
    found["belief"] = belief(ask(fresh, coterie.AMCP(MODEL, random_state=0)))
    print(json.dumps(found["belief"]))
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
