"""Settings of the estimators, mostly in order: weights, constraints, endings, sample weights."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

AMCP = (
    *("amcp-universal", "amcp-universal-tables", "amcp-universal-small", "amcp-mog2d"),
    *("amcp-mog2d-wide", "amcp-warped2d"),
)
# Of small networks, which are written to a folder, and of those that ship.
OTHERS = {
    "dac": ("dac-mog2d", "dac-warped2d", "dac, anchored", "dac with flows"),
    "act_st": ("act_st-mog2d",),
    "ncp": ("ncp-mog2d",),
    "chigac": ("chigac", "chigac-mog2d"),
}
OF_IMAGES = {
    "amcp": ("amcp of images",),
    "dac": ("dac of images", "dac with statisticians", "dac-omniglot", "dac-emnist"),
    "ncp": ("ncp of images",),
    "chigac": ("chigac of images", "chigac-mnist"),
    "mice": ("mice", "mice-mnist"),
}
# For each setting the values that are in order, and those that are not.
SETTINGS: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "n_clusters": (
        (1, 2, 3, 5, 12, 50, (1, 3), (2, 2), (4, 9), [1, 4], np.int64(2)),
        (
            0,
            -1,
            (3, 1),
            (1,),
            (1, 2, 3),
            "2",
            2.5,
            (1.5, 2),
            (None, 3),
            np.nan,
            10**30,
            {1, 2},
            True,
        ),
    ),
    "min_cluster_size": ((1, 2, 3, 5, 30, 1_000), (0, -1, 1.5, "3", None, np.inf)),
    "noise": ((True,), (None, "yes", 2)),
    "ending": (("auto", "network", "judge", "em", "consolidate"), ("", None, "NETWORK", 1)),
    "context_size": ((None, 1, 2, 10, 100), (0, -5, 2.5, "all")),
    "whole_trace": ((True, False), (None, "no")),
    "random_state": ((None, 0, 7, np.random.RandomState(3)), (-1, "seed", 2.5)),
    "second_look": ((True, False), (None, "no")),
    "e_step": ((None, "regular", "ot", "column"), ("", 1)),
    "n_em_steps": ((None, 0, 1, 4), (-1, 1.5, "2")),
    "columns": ((["c0"], ["c0", "c1"], [0]), (["nothing"], "c0", [], 3, [["c0"]], [None])),
    "exclude": ((["c1"], ["c0"]), (["nothing"], 3, [["c0"]])),
    "categorical": ((["c0"], ["t0"]), (["nothing"], 3)),
    "device": (("cpu",), ("abacus", "", None)),
    "weights": (AMCP, ("nothing", "", None, 3, "..", "dac-mog2d ", "/dev/null", "\x00")),
}
OF_AMCP = ("second_look", "e_step", "n_em_steps")
RARE = ("columns", "exclude", "categorical", "device", "weights", "e_step", "n_em_steps")
CHANGED, RARELY_CHANGED, WRONG = 0.2, 0.03, 0.06
OF_MICE = ("n_clusters", "device", "random_state", "weights")
OTHER, SEEING = 0.3, 0.1  # shares of attempts with another system than AMCP, and with images


def settings(random: Generator, small: Path) -> dict[str, Any]:
    """Settings of an estimator, with its `system`; one attempt in some has a wrong value.

    small: the folder with the weights of the small networks. `sees`: whether they read images.
    """
    kind, sees = random.random(), False
    if kind < SEEING:
        system, sees = _pick(random, tuple(OF_IMAGES)), True
        weights = _pick(random, OF_IMAGES[system])
    elif kind < SEEING + OTHER:
        system = _pick(random, tuple(OTHERS))
        weights = _pick(random, OTHERS[system])
    else:
        system, weights = "amcp", _pick(random, AMCP)
    path = small / f"{weights}.safetensors"
    chosen: dict[str, Any] = {"weights": path if path.is_file() else weights}
    if system in ("ncp", "chigac"):
        chosen["n_samples"] = 2  # NCP seats rows one by one, which takes its time
    for name, (right, wrong) in SETTINGS.items():
        if (system != "amcp" and name in OF_AMCP) or (system == "mice" and name not in OF_MICE):
            continue
        if random.random() < (RARELY_CHANGED if name in RARE else CHANGED):
            chosen[name] = _pick(random, wrong if random.random() < WRONG else right)
    return {"system": system, "sees": sees, **chosen}


def sample_weight(random: Generator, n: int) -> NDArray | list[Any] | None:
    """Weights of n rows, in most attempts none."""
    if random.random() < 0.85:
        return None
    weights: tuple[Any, ...] = (
        *(np.ones(n), np.zeros(n), random.integers(0, 4, size=n), random.random(n)),
        *(np.full(n, 1e-320), np.full(n, 1e300), 1e300 * random.random(n), -np.ones(n)),
        *(np.full(n, np.nan), np.full(n, np.inf), np.ones(n + 1), np.ones((n, 1)), ["a"] * n),
        *(1e-310 * random.random(n), np.eye(1, n)[0], [None] * n, [], np.ones(n, complex)),
        *(10 ** random.uniform(-300, 300, size=n), random.integers(0, 2, size=n).astype(bool)),
    )
    return _pick(random, weights)


def _pick(random: Generator, choices: tuple[Any, ...]) -> Any:
    return choices[int(random.integers(len(choices)))]
