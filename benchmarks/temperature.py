"""Find the temperature at which the probabilities of a model mean what they say, and keep it.

    python benchmarks/temperature.py WEIGHTS [sets of each family, 30]

WEIGHTS is a shipped name or a file of a model that reads every set in a frame of its own. The
temperature makes the truth of fresh sets most probable: whether each point is in the right cluster,
given its membership. The sets are others than those of `python benchmarks calibration`.
"""

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from bench.held_out import held_out_sets
from coterie.estimators.registry import clusterer
from coterie.metrics import rightly_clustered
from coterie.weights.catalogue import find
from coterie.weights.format import load_system, save_system

SEED = 1  # the benchmark has 0
COLDEST, HOTTEST = 0.5, 10.0
SMALLEST = 1e-12  # a probability; a surer network is not believed

Judged = tuple[NDArray[np.float64], NDArray[np.bool_]]


def judge(weights: str, n_sets: int) -> list[Judged]:
    """Memberships (n, k) and who is right (n,), set by set."""
    judged = []
    for given in held_out_sets(n_sets, SEED):
        found = clusterer(weights, random_state=0).fit(given.points).clustering_
        scored = given.labels >= 0
        right = rightly_clustered(given.labels[scored], found.labels[scored])
        judged.append((found.probabilities[scored], right))
    return judged


def surprise(temperature: float, judged: list[Judged]) -> float:
    """Minus the mean log-probability of what is right and what is not."""
    total, count = 0.0, 0
    for memberships, right in judged:
        power = np.maximum(memberships, SMALLEST) ** (1 / temperature)
        sure = np.clip((power / power.sum(1, keepdims=True)).max(1), SMALLEST, 1 - 1e-6)
        total -= float(np.where(right, np.log(sure), np.log1p(-sure)).sum())
        count += len(right)
    return total / count


def main(weights: str, n_sets: str = "30") -> None:
    """Fit, print and write the temperature into the header of the weights."""
    warnings.simplefilter("ignore")
    path = find(weights)
    system, card = load_system(path)
    if card.traits.density:
        raise SystemExit(
            f"{weights} has a density, and with it a likelihood that has the last word"
        )
    with TemporaryDirectory() as folder:
        as_it_comes = Path(folder) / path.name
        save_system(as_it_comes, system, replace(card, temperature=1.0))
        judged = judge(str(as_it_comes), int(n_sets))
    found = minimize_scalar(surprise, bounds=(COLDEST, HOTTEST), args=(judged,), method="bounded")
    temperature = round(float(found.x), 2)
    print(f"{surprise(1.0, judged):.3f} at 1, {surprise(temperature, judged):.3f} at {temperature}")
    save_system(path, system, replace(card, temperature=temperature))


if __name__ == "__main__":
    main(*sys.argv[1:3])
