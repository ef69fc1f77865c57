"""Choices that need no judge, on the whole tables and the public sets.

COTERIE_DATA=... PYTHONPATH=benchmarks python -m judge.rules FOLDER [FOLDER ...]
"""

import sys
from collections.abc import Callable

import numpy as np

from coterie.judge.features import ARMS, feature_names
from judge.weighed import Weighed, load

Rule = Callable[[Weighed], int]  # the place of the candidate it chooses

NAMES = feature_names()


def by(name: str) -> Rule:
    """The candidate with the largest value of a feature."""
    return lambda each: int(each.inputs[:, NAMES.index(name)].argmax())


def named(*names: str) -> Rule:
    """The first of these candidates that is there; the default where none is."""

    def choose(each: Weighed) -> int:
        there = [each.meta["names"].index(name) for name in names if name in each.meta["names"]]
        return there[0] if there else 0

    return choose


def hindsight(arms: tuple[str, ...]) -> Rule:
    """The best candidate of some arms, by the truth; the default where they made none."""

    def choose(each: Weighed) -> int:
        own = np.array([name.split("/")[0] in arms for name in each.meta["names"]])
        return int(np.where(own, each.ari, -1).argmax()) if own.any() else 0

    return choose


RULES = {
    "default": lambda each: 0,
    "most agreement with the others": lambda each: int(each.inputs[:, len(NAMES)].argmax()),
    "silhouette": by("silhouette"),
    "classification gain, full": by("gain of full Gaussians"),
    "mixture gain, full": by("mixture gain of full Gaussians"),
    "mixture, 4 axes, BIC": named("full/axes4", "full/all"),
    "mixture, 8 axes, BIC": named("full/axes8", "full/all"),
    "hindsight, all": hindsight(ARMS),
    **{f"hindsight, {arm}": hindsight((arm,)) for arm in ARMS},
    **{
        f"hindsight, all but {arm}": hindsight(tuple(other for other in ARMS if other != arm))
        for arm in ARMS
    },
}


def main() -> None:
    """Print the mean ARI of every rule."""
    sets = [each for each in load(sys.argv[1:]) if each.whole and not each.meta["seed"]]
    parts = {
        part: [each for each in sets if each.part == part]
        for part in ("train", "validation", "suite")
    }
    print(f"{'':34s}", "  ".join(f"{part} ({len(own)})" for part, own in parts.items()))
    for label, rule in RULES.items():
        cells = [f"{np.mean([each.ari[rule(each)] for each in own]):.3f}" for own in parts.values()]
        print(f"{label:34s}", "      ".join(cells))


if __name__ == "__main__":
    main()
