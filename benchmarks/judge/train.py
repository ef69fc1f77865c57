"""Train the judge, and calibrate it on sets that its training did not see.

    COTERIE_DATA=... PYTHONPATH=benchmarks python -m judge.train FOLDER [FOLDER ...] [--out FILE]

Prints what it chooses on the train tables (cross-validated by origin), and on the validation tables
and the public sets, which it is not trained on: first the mean of the folds' forests, then the
judge that is stored; differences to the default with standard errors of the pairs.
"""

import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from sklearn.ensemble import ExtraTreesRegressor

from coterie.inference.judged import NARROW
from coterie.judge.forest import LEAF, Forest
from coterie.judge.store import STORED, Judge, save_judge
from coterie.judge.verdict import belief_in_k
from judge.weighed import Weighed, folds, load

N_FOLDS = 3


def fit(sets: list[Weighed], args: argparse.Namespace) -> Forest:
    """A forest that predicts the agreement of candidates; every set counts alike."""
    inputs = np.concatenate([each.inputs for each in sets])
    ari = np.concatenate([each.ari for each in sets]).clip(0, 1)
    shares = [
        np.full(
            len(each.k),
            (args.prior_weight if each.meta["source"] == "universal" else 1.0) / len(each.k),
        )
        for each in sets
    ]
    model = ExtraTreesRegressor(
        args.trees,
        min_samples_leaf=args.leaf,
        max_leaf_nodes=args.leaves,
        max_features=0.4,
        max_samples=0.4,
        bootstrap=True,
        random_state=0,
    )
    # A bootstrap sample is as large as a share of the sum of weights: let their mean be one.
    weight = np.concatenate(shares)
    return as_arrays(model.fit(inputs, ari, weight / weight.mean()))


def as_arrays(model: ExtraTreesRegressor) -> Forest:
    """The trees of a model of scikit-learn, one after the other."""
    trees = [each.tree_ for each in model.estimators_]
    roots = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])[:-1]])
    leaf = np.concatenate([tree.children_left < 0 for tree in trees])
    left, right = (
        np.concatenate(
            [root + getattr(tree, side) for root, tree in zip(roots, trees, strict=True)]
        )
        for side in ("children_left", "children_right")
    )
    feature = np.concatenate([tree.feature for tree in trees])
    return Forest(
        roots.astype(np.int32),
        np.where(leaf, LEAF, feature).astype(np.int16),
        np.concatenate([tree.threshold for tree in trees]).astype(np.float32),
        np.where(leaf, 0, left).astype(np.int32),
        np.where(leaf, 0, right).astype(np.int32),
        np.concatenate([tree.value[:, 0, 0] for tree in trees]).astype(np.float32),
    )


def aside_scores(sets: list[Weighed], args: argparse.Namespace) -> list[np.ndarray]:
    """Scores of each set's candidates by forests that saw neither it nor its origin."""
    fold = folds(sets, N_FOLDS)
    forests = [
        fit([e for e, own in zip(sets, fold, strict=True) if own != n and e.part == "train"], args)
        for n in range(N_FOLDS)
    ]
    return [
        forests[own].predict(each.inputs)
        if each.part == "train"
        # Sets that are never trained on get the mean of all folds.
        else np.mean([forest.predict(each.inputs) for forest in forests], 0)
        for each, own in zip(sets, fold, strict=True)
    ]


def calibration(score: np.ndarray, ari: np.ndarray) -> tuple[float, float]:
    """Slope and offset of the logit that make the scores of chosen candidates true."""
    score = score.clip(1e-3, 1 - 1e-3)
    logit = np.log(score / (1 - score))

    def loss(line: np.ndarray) -> float:
        value = (1 / (1 + np.exp(-(line[0] * logit + line[1])))).clip(1e-6, 1 - 1e-6)
        return float(-(ari * np.log(value) + (1 - ari) * np.log(1 - value)).mean())

    slope, offset = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead").x
    return float(slope), float(offset)


def temperature(sets: list[Weighed], scores: list[np.ndarray]) -> float:
    """That under which the true numbers of clusters are most probable."""

    def surprise(log_temperature: float) -> float:
        total = 0.0
        for each, own in zip(sets, scores, strict=True):
            belief = belief_in_k(own, each.k, float(np.exp(log_temperature)))
            true = each.meta["k"]
            total -= np.log(belief[true] if true < len(belief) else 1e-4)
        return total / len(sets)

    found = minimize_scalar(surprise, bounds=(np.log(0.005), np.log(1.0)), method="bounded")
    print(f"temperature {np.exp(found.x):.4f}, surprise of the true k {found.fun:.3f}")
    return float(np.exp(found.x))


def say(label: str, sets: list[Weighed], choices: list[int]) -> None:
    """Mean ARI of what was chosen, against the default and hindsight, with standard errors."""
    ari = np.array([each.ari[i] for each, i in zip(sets, choices, strict=True)])
    k = np.array([each.k[i] for each, i in zip(sets, choices, strict=True)])
    true_k = np.array([each.meta["k"] for each in sets])
    off = abs(k - true_k)
    default_right = np.array([each.k[0] for each in sets]) == true_k
    default = np.array([each.ari[0] for each in sets])
    best = np.array([each.ari.max() for each in sets])
    gain = ari - default
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    print(
        f"{label:28s} {len(sets):4d} sets: ARI {ari.mean():.3f}, default {default.mean():.3f}"
        f" ({gain.mean():+.3f} +- {error:.3f}), hindsight {best.mean():.3f};"
        f" k exact {np.mean(off == 0):.0%}, within one {np.mean(off <= 1):.0%},"
        f" exact by default {default_right.mean():.0%}",
        flush=True,
    )


def say_stored(label: str, judge: Judge, sets: list[Weighed]) -> None:
    """The same for the judge that is stored: its forests have seen all train sets, not a part."""
    scores = [judge.forest.predict(each.inputs) for each in sets]
    say(label, sets, [int(each.argmax()) for each in scores])
    expected = np.mean([judge.calibrated(each.max()) for each in scores])
    print(f"{label}: expected agreement {expected:.3f}")


def main() -> None:
    """Train, print the report and write the judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("--trees", type=int, default=60)
    parser.add_argument("--leaf", type=int, default=8)
    parser.add_argument("--leaves", type=int, default=400)
    parser.add_argument("--prior-weight", type=float, default=0.5)
    parser.add_argument("--details", type=Path)
    parser.add_argument("--out", type=Path, default=None, help=f"for example {STORED}")
    args = parser.parse_args()
    sets = load(args.folders, tuple(args.without))
    scores = aside_scores(sets, args)
    train = [i for i, each in enumerate(sets) if each.part == "train"]

    chosen = [int(own.argmax()) for own in scores]
    groups = {
        "train tables": lambda each: each.whole and each.part == "train" and not each.meta["seed"],
        "parts of train tables": lambda each: each.meta["source"] == "table",
        "mixtures": lambda each: each.meta["source"] == "mixture",
        "universal prior": lambda each: each.meta["source"] == "universal",
        "validation tables": lambda each: each.part == "validation" and not each.meta["seed"],
        "wide validation tables": lambda each: (
            each.part == "validation" and not each.meta["seed"] and each.meta["shape"][1] > NARROW
        ),
        "suite": lambda each: each.part == "suite" and not each.meta["seed"],
    }
    for label, belongs in groups.items():
        own = [i for i, each in enumerate(sets) if belongs(each)]
        if len(own) > 1:
            say(label, [sets[i] for i in own], [chosen[i] for i in own])
    # On tables: of drawn sets the judge expects about as much, and more of it comes true.
    real = [i for i in train if sets[i].meta["source"] in ("table", "whole")]
    score = np.array([scores[i].max() for i in real])
    ari = np.array([sets[i].ari[chosen[i]] for i in real]).clip(0, 1)
    slope, offset = calibration(score, ari)
    warm = temperature([sets[i] for i in train], [scores[i] for i in train])
    judge = Judge(
        fit([sets[i] for i in train], args),
        warm,
        slope,
        offset,
    )
    for label in ("train tables", "validation tables", "suite"):
        own = [i for i, each in enumerate(sets) if groups[label](each)]
        said = np.array([judge.calibrated(scores[i].max()) for i in own])
        true = np.array([sets[i].ari[chosen[i]] for i in own])
        belief = [belief_in_k(scores[i], sets[i].k, warm).max() for i in own]
        right = [sets[i].k[chosen[i]] == sets[i].meta["k"] for i in own]
        print(
            f"{label}: expected agreement {said.mean():.3f}, true {true.mean():.3f}, correlation"
            f" {np.corrcoef(said, true)[0, 1]:.2f}; belief in the chosen k {np.mean(belief):.2f},"
            f" right {np.mean(right):.2f}"
        )
    for label in ("validation tables", "suite"):
        say_stored(f"{label}, stored", judge, [each for each in sets if groups[label](each)])
    if args.details:
        with args.details.open("w") as file:
            for i, each in enumerate(sets):
                if each.whole and not each.meta["seed"]:
                    row = {key: each.meta[key] for key in ("source", "name", "shape", "k")}
                    row |= {"part": each.part, "chosen": each.meta["names"][chosen[i]]}
                    row |= {"ari": each.ari[chosen[i]], "found": int(each.k[chosen[i]])}
                    row |= {"default": each.ari[0], "hindsight": each.ari.max()}
                    print(json.dumps(row), file=file)
    if args.out:
        provenance = {"sets": len(train), "trees": args.trees, "without": args.without}
        save_judge(args.out, judge, provenance)
        print(f"{args.out.name}: {args.out.stat().st_size / 2**10:.0f} KiB")


if __name__ == "__main__":
    main()
