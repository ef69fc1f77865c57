"""The cases whose answers are stored: every shipped model, every ending, ten small sets.

`make golden` computes them again and overwrites the stored answers.
"""

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

import coterie
from coterie.inference.endings import Ending
from coterie.systems.protocol import Direct, Sequential
from coterie.weights.catalogue import open_model

STORED = Path(__file__).with_name("answers.npz")

# Settings of the estimator, by the name of the ending.
AMCP_ENDINGS: dict[str, dict[str, Any]] = {
    "consolidated": {},
    "traced": {"whole_trace": True},
    "reestimated": {"ending": "em"},
    "network": {"ending": "network"},
    "first-look": {"ending": "network", "second_look": False},
}
DAC_ENDINGS = {
    name: AMCP_ENDINGS[name] for name in ("consolidated", "traced", "reestimated", "network")
}
FLOW_ENDINGS = {name: AMCP_ENDINGS[name] for name in ("consolidated", "reestimated", "network")}
UNIVERSAL_ENDINGS = {name: AMCP_ENDINGS[name] for name in ("network", "first-look")}
ENDINGS = {
    "amcp-mog2d": AMCP_ENDINGS,
    "amcp-mog2d-wide": AMCP_ENDINGS,
    "dac-mog2d": DAC_ENDINGS,
    # It takes no steps, so there is nothing to trace.
    "act_st-mog2d": {
        name: AMCP_ENDINGS[name] for name in ("consolidated", "reestimated", "network")
    },
    # Without a density nothing is consolidated or re-estimated: the network has the last word.
    "amcp-warped2d": {"network": {}, "first-look": {"second_look": False}},
    "dac-warped2d": FLOW_ENDINGS,
    "dac-emnist": {},  # reads images alone, see tests/estimators/test_statisticians.py
    "amcp-universal": UNIVERSAL_ENDINGS | {"judged": {"ending": "judge"}},
    "amcp-universal-small": UNIVERSAL_ENDINGS,
    "amcp-universal-tables": UNIVERSAL_ENDINGS,
    "chigac-mog2d": {"looks": {}, "network": {"ending": "network"}},
    "ncp-mog2d": {"network": {}},
    # Of images, which have sets of their own.
    "amcp-mnist": {"reestimated": {}, "network": {"ending": "network"}},
    "amcp-cifar10": {"reestimated": {}, "network": {"ending": "network"}},
    "chigac-mnist": {"reestimated": {}, "network": {"ending": "network"}},
    "dac-omniglot": {
        "reestimated": {},
        "network": {"ending": "network"},
        "promised": {"anchor": "promise", "n_restarts": 1},
        "trained": {"own_statistics": False, "n_restarts": 2},
    },
}
OF_IMAGES = ("amcp-mnist", "chigac-mnist", "dac-omniglot")
OF_PHOTOS = ("amcp-cifar10",)
# Which of two points that promise as much is asked first is a matter of rounding: on another CPU
# clusters of one size may come in another order, and those of very few points may be others.
UNORDERED = ("promised",)


NOTHING: dict[str, Any] = {}


class DoubleNCP(coterie.NCP):
    """NCP in double precision: in single, a seat may be another one on a CPU that rounds otherwise.

    All later draws then differ.
    """

    def _networks(self, ending: Ending) -> tuple[Sequential | Direct, None]:
        return open_model(self.weights, self.device, torch.float64)[0], None


class Case(NamedTuple):
    """A set (n, d), or of images (n, H, W), and what is asked of its clusters."""

    points: NDArray[np.float64]
    constraints: dict[str, Any] = NOTHING
    weights: NDArray[np.float64] | None = None


class Answer(NamedTuple):
    """What a fit says: labels (n,), memberships (n, k), log-likelihood, points claimed a step."""

    labels: NDArray[np.int16]
    probabilities: NDArray[np.float32]
    log_likelihood: NDArray[np.float64]
    claimed: NDArray[np.int32]


def sets() -> dict[str, Case]:
    """Ten sets, in the units of the models that read columns as they are."""
    draw = np.random.default_rng(5)

    def mixture(sizes: list[int], centres: Any, scale: float = 0.25) -> NDArray[np.float64]:
        parts = [
            draw.normal(centre, scale, size=(size, len(centre)))
            for size, centre in zip(sizes, np.asarray(centres, dtype=float), strict=True)
        ]
        return draw.permutation(np.concatenate(parts))

    corners = [(-1.5, -1.0), (1.5, -1.0), (0.0, 1.5), (2.5, 2.5)]
    apart = mixture([70, 50, 40, 20], corners)
    crowd = mixture([18] * 9, [(x, y) for x in (-2, 0, 2) for y in (-2, 0, 2)])
    angle = draw.uniform(0, np.pi, 160)
    side = np.repeat([1.0, -1.0], 80)
    moons = np.c_[np.cos(angle) * side + (side < 0), np.sin(angle) * side + 0.4 * (side < 0)]
    background = draw.uniform(-4, 4, size=(18, 2))
    return {
        "apart": Case(apart),
        "one": Case(mixture([90], [(0.3, -0.4)])),
        "overlapping": Case(mixture([80, 80, 40], [(-0.45, 0.0), (0.45, 0.1), (0.2, 1.3)])),
        "crowd": Case(crowd),
        "moons": Case(moons + draw.normal(0, 0.05, size=moons.shape)),
        "noisy": Case(np.concatenate([apart, background]), {"noise": True}),
        "wide": Case(mixture([60, 50, 40], 1.5 * draw.normal(size=(3, 8)))),
        "very-wide": Case(mixture([50, 40], draw.normal(size=(2, 24)))),
        "constrained": Case(crowd, {"n_clusters": (3, 5), "min_cluster_size": 12}),
        "weighted": Case(apart, weights=draw.integers(0, 4, size=len(apart)).astype(float)),
    }


def image_sets() -> dict[str, Case]:
    """Sets of drawings of 28 x 28: characters of four strokes each, drawn anew with a little noise.

    One has too few of them for statistics of their own.
    """
    draw = np.random.default_rng(6)
    characters = draw.uniform(5, 23, size=(8, 4, 2, 2))  # strokes by their ends
    along = np.linspace(0, 1, 40)[:, None]
    grid = np.arange(28)

    def drawing(character: NDArray[np.float64]) -> NDArray[np.float64]:
        ends = character + draw.normal(0, 0.6, size=character.shape)
        places = np.concatenate([(1 - along) * a + along * b for a, b in ends])  # (160, 2)
        near = [np.exp(-((grid - place[:, None]) ** 2) / 0.8) for place in places.T]
        return np.einsum("pr,pc->prc", *near).max(0)

    drawings = np.stack([drawing(character) for character in characters for _ in range(16)])
    drawings = draw.permutation(drawings)
    return {
        "drawings": Case(drawings),
        "few": Case(drawings[:12]),
        "constrained": Case(drawings, {"n_clusters": (3, 5), "min_cluster_size": 12}),
    }


def photo_sets() -> dict[str, Case]:
    """The drawings in a colour for each pixel's place, 32 pixels wide."""
    shades = np.stack([np.linspace(0.2, 1, 32), np.linspace(1, 0.2, 32), np.full(32, 0.6)], -1)

    def coloured(points: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.pad(points, ((0, 0), (2, 2), (2, 2)))[..., None].clip(0, 1) * shades

    return {
        name: case._replace(points=coloured(case.points)) for name, case in image_sets().items()
    }


def sets_of(model: str, ending: str = "") -> dict[str, Case]:
    """The sets that a model can read, and that an ending answers alike on every CPU."""
    found = image_sets() if model in OF_IMAGES else sets()
    found = photo_sets() if model in OF_PHOTOS else found
    return {name: case for name, case in found.items() if ending not in UNORDERED or name != "few"}


def ordered(given: Answer) -> Answer:
    """The same clusters in the order in which they appear among the points."""
    present, first = np.unique(given.labels[given.labels >= 0], return_index=True)
    order = present[np.argsort(first)]
    names = np.append(np.argsort(order), -1).astype(np.int16)
    return given._replace(
        labels=names[given.labels],
        probabilities=given.probabilities[:, order],
        claimed=np.sort(given.claimed),
    )


def names() -> list[str]:
    """Every case as model/ending/set."""
    return [
        f"{model}/{ending}/{case}"
        for model, endings in ENDINGS.items()
        for ending in endings
        for case in sets_of(model, ending)
    ]


def answer(name: str) -> Answer:
    """Fit the model of a case to its set."""
    model, ending, case = name.split("/")
    points, constraints, weights = sets_of(model)[case]
    estimators = (coterie.ACTST, coterie.AMCP, coterie.CHiGac, coterie.DAC, DoubleNCP)
    systems = {each.system: each for each in estimators}
    estimator = systems[model.split("-")[0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = estimator(model, random_state=0, **constraints, **ENDINGS[model][ending])
        found = fitted.fit(points, sample_weight=weights).clustering_
    likelihood = np.nan if found.log_likelihood is None else found.log_likelihood
    return Answer(
        found.labels.astype(np.int16),
        found.probabilities.astype(np.float32),
        np.float64(likelihood),
        np.array([len(step.claimed) for step in found.steps], dtype=np.int32),
    )


def stored(name: str) -> Answer:
    """The stored answer of a case."""
    with np.load(STORED) as archive:
        return Answer(*(archive[f"{name}/{part}"] for part in Answer._fields))


def _parts() -> Iterator[tuple[str, NDArray]]:
    for name in names():
        for part, values in answer(name)._asdict().items():
            if part == "probabilities":
                values = values.round(6)  # beyond what is compared; it packs better
            yield f"{name}/{part}", values


if __name__ == "__main__":
    torch.set_num_threads(1)
    np.savez_compressed(STORED, **dict(_parts()))
    sys.stdout.write(f"{len(names())} answers in {STORED}\n")
