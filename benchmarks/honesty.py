"""What the universal model says of itself on sets that it was not trained on: mixtures and moons.

    python benchmarks/honesty.py [--sets 200] [--seed 0]

prints and keeps the calibration of the memberships, also where the number of clusters is wrong,
what recalibrating them would bring, and the belief in that number against the truth.
"""

import argparse
import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression

import coterie
from bench.machine import describe_machine
from bench.reliability import Reliability
from bench.suite import SuiteSet
from coterie.inference.judged import NARROW
from coterie.metrics import rightly_clustered

RESULTS = Path(__file__).parent / "results/honesty.json"
MODEL = "amcp-universal"


@dataclass(frozen=True)
class Judged:
    """A set, how sure the model was of its rows (n,) and which were right (n,), the belief in k.

    agreement: with the truth, as the judge expects it.
    """

    kind: str
    columns: int
    true: int
    found: int
    confidence: NDArray[np.float64]
    right: NDArray[np.bool_]
    belief: NDArray[np.float64]
    agreement: float

    @property
    def top(self) -> int:
        """The most probable number of clusters."""
        return int(self.belief.argmax())


def mixtures(random: Generator, name: str) -> SuiteSet:
    """One to eight Gaussians of any shape in two to eight columns, apart or overlapping."""
    d, k = int(random.choice((2, 2, 3, 5, 8))), int(random.integers(1, 9))
    shares = random.dirichlet(np.full(k, 4.0))
    labels = random.choice(k, p=shares, size=int(random.integers(100, 501)))
    centres = random.normal(size=(k, d)) * random.uniform(1.5, 5.0)
    shapes = random.normal(size=(k, d, d)) * 0.4 + np.eye(d) * random.uniform(0.3, 1.0)
    noise = random.normal(size=(len(labels), d))
    points = centres[labels] + np.einsum("nij,nj->ni", shapes[labels], noise)
    return SuiteSet(name, "mixtures", points, np.unique(labels, return_inverse=True)[1])


def moons(random: Generator, name: str) -> SuiteSet:
    """A pair of moons, turned, and sharp or blurred until they touch."""
    n, blur = int(random.integers(100, 501)), random.uniform(0.02, 0.2)
    points, labels = make_moons(n, noise=blur, random_state=int(random.integers(2**31)))
    turn = np.linalg.qr(random.normal(size=(2, 2)))[0]
    return SuiteSet(name, "moons", points @ turn, labels)


def draw(n_sets: int, seed: int) -> Iterator[SuiteSet]:
    """So many sets, of both kinds by turns."""
    for number in range(n_sets):
        make = (mixtures, moons)[number % 2]
        yield make(default_rng((seed, number)), f"{make.__name__} {number}")


def judge(given: SuiteSet, model: coterie.AMCP) -> Judged:
    """What the model says of a set, held against the truth."""
    found = model.fit(given.points).clustering_
    right = rightly_clustered(given.labels, found.labels)
    return Judged(
        given.kind,
        given.points.shape[1],
        given.n_clusters,
        model.n_clusters_,
        found.confidence,
        right,
        np.array(model.k_probabilities_),
        model.expected_agreement_ or 0.0,
    )


def calibration(judged: Sequence[Judged]) -> dict[str, float]:
    """The calibration of the memberships of all rows."""
    together = Reliability.all_of([Reliability.of(each.confidence, each.right) for each in judged])
    means = {"confidence": together.mean_confidence, "right": together.share_right}
    return {"sets": len(judged), **means, "ece": together.calibration_error}


def recalibrated(judged: Sequence[Judged], *told: str) -> list[Judged]:
    """The sets with confidences by a logistic rule, found on the other half of the sets.

    told: what the rule knows of a set beside the confidences: "belief" in the k found, the
    expected "agreement".
    """
    features = [_features(each, told) for each in judged]
    half = np.arange(len(judged)) // 2 % 2  # sets of both kinds are in both halves
    rules = []
    for other in (1, 0):
        chosen = np.flatnonzero(half == other).tolist()
        right = np.concatenate([judged[i].right for i in chosen])
        rules.append(LogisticRegression().fit(np.concatenate([features[i] for i in chosen]), right))
    return [
        replace(each, confidence=rules[half[at]].predict_proba(features[at])[:, 1])
        for at, each in enumerate(judged)
    ]


def _features(each: Judged, told: Sequence[str]) -> NDArray[np.float64]:
    known = {
        "belief": each.belief[each.found] if each.found < len(each.belief) else 0.0,
        "agreement": each.agreement,
    }
    columns = [each.confidence, *(np.full(len(each.confidence), known[name]) for name in told)]
    return logit(np.clip(np.column_stack(columns), 1e-4, 1 - 1e-4))


def belief(judged: Sequence[Judged]) -> dict[str, float]:
    """The probability of the most probable number and of the true one, and how often it is true."""
    true = [each.belief[each.true] if each.true < len(each.belief) else 0.0 for each in judged]
    return {
        "sets": len(judged),
        "top_belief": fmean(each.belief.max() for each in judged),
        "top_right": fmean(each.top == each.true for each in judged),
        "found_right": fmean(each.found == each.true for each in judged),
        "surprise": fmean(-np.log(np.maximum(true, 1e-12))),
    }


def report(judged: Sequence[Judged]) -> dict[str, Any]:
    """Both, for all sets and for parts of them."""
    parts = {
        "all": judged,
        "mixtures": [each for each in judged if each.kind == "mixtures"],
        "moons": [each for each in judged if each.kind == "moons"],
        "up to 3 columns": [each for each in judged if each.columns <= NARROW],
        "more columns": [each for each in judged if each.columns > NARROW],
        "k right": [each for each in judged if each.found == each.true],
        "k wrong": [each for each in judged if each.found != each.true],
    }
    rules = {"alone": (), "with belief": ("belief",), "with agreement": ("agreement",)}
    mended = {name: recalibrated(judged, *told) for name, told in rules.items()}
    return {
        "recalibrated": {
            name: {
                "all": calibration(each)["ece"],
                "k right": calibration([one for one in each if one.found == one.true])["ece"],
                "k wrong": calibration([one for one in each if one.found != one.true])["ece"],
            }
            for name, each in mended.items()
        },
        "memberships": {name: calibration(part) for name, part in parts.items() if part},
        "belief": {name: belief(part) for name, part in parts.items() if part and "k " not in name},
    }


def main() -> None:
    """Judge, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    model = coterie.AMCP(MODEL, random_state=0)
    judged = [judge(each, model) for each in draw(given.sets, given.seed)]
    found = {
        "command": f"python benchmarks/honesty.py --sets {given.sets} --seed {given.seed}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        **report(judged),
    }
    print(
        json.dumps(
            {name: found[name] for name in ("memberships", "recalibrated", "belief")}, indent=1
        )
    )
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
