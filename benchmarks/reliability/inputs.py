"""Odd inputs: arrays, data frames, what is no table, settings and sample weights of any kind.

Each must end in labels that keep what is promised of them, twice the same, or in an exception that
is documented: a `ValueError` or `TypeError` that somebody raised on purpose, and that says what is
wrong. Some tables go through files and the command line as well.

    python benchmarks/reliability inputs --attempts 10000
"""

import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Sized
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng

import coterie
from coterie.estimators.amortized import AmortizedClusterer
from coterie.inference.constraints import Constraints
from reliability._as_file import run_cluster, write_table
from reliability._odd_frames import TABLES
from reliability._odd_images import IMAGES
from reliability._odd_settings import sample_weight, settings
from reliability._small_systems import SMALL, write_small
from reliability._supervised import endings

KINDS, SEEN = sorted(TABLES), sorted(IMAGES)
MAKERS = TABLES | IMAGES
ESTIMATORS = {
    "amcp": coterie.AMCP,
    "dac": coterie.DAC,
    "act_st": coterie.ACTST,
    "ncp": coterie.NCP,
    "chigac": coterie.CHiGac,
    "mice": coterie.MiCE,
}
# Who refuses on purpose: this package, and the checks of scikit-learn that it calls.
REFUSING = ("coterie/", "sklearn/utils/")
# A message must name what is wrong: a part of the input, or a setting.
NAMED = (
    *("X", "column", "row", "array", "weight", "feature", "sample", "parameter"),
    *("device", "model", "n_clusters", "images"),
)
FURTHER = (
    *("predict", "predict_proba", "unlike", "fit", "transform", "sample_partitions"),
    *("co_assignment", "score_samples", "sample"),
)
TO_A_FILE, MORE, BELIEF, IMAGES_SEEN = 0.1, 0.2, 0.03, 0.7  # shares of the attempts


def campaign(attempts: int, seed: int = 0) -> dict[str, Any]:
    """Try so many inputs; the row counts what came of them."""
    outcomes, kinds, failures, slowest, seconds = Counter[str](), Counter[str](), [], 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name in SMALL:
            write_small(name, Path(folder) / f"{name}.safetensors")
        for number, ending in enumerate(endings(partial(attempt, Path(folder)), attempts, seed)):
            kinds[ending.kind] += 1
            slowest, seconds = max(slowest, ending.seconds), seconds + ending.seconds
            if ending.outcome in ("labels", "refused"):
                outcomes[ending.outcome] += 1
            else:
                failures.append(f"{number} {ending.kind}: {ending.outcome}")
    return {
        "campaign": "inputs",
        "attempts": attempts,
        "seed": seed,
        "labels": outcomes["labels"],
        "refused": outcomes["refused"],
        "kinds": dict(sorted(kinds.items())),
        "cpu_seconds": round(seconds),
        "slowest_cpu_seconds": round(slowest, 2),
        "failures": failures,
    }


def attempt(small: Path, seed: int, number: int) -> tuple[str, str]:
    """The kind of one input, and what came of it; small: where the small networks are."""
    random = default_rng((seed, number))
    made = int(random.integers(2**63))
    chosen = settings(random, small)
    kind = _kind(random, sees=chosen["sees"])
    system = chosen["system"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = MAKERS[kind](default_rng(made))
        if system == "amcp" and not chosen["sees"] and random.random() < TO_A_FILE:
            with tempfile.TemporaryDirectory() as folder:
                path = write_table(table, Path(folder), random)
                if path is not None:
                    return f"{kind}, in a file", run_cluster(path, default_rng(made))
        caught.clear()
        try:
            fit = _fit_images if system == "mice" else _fit
            outcome = fit(kind, made, chosen, random)
        except Exception as error:
            outcome = judged(error)
    numeric = [each for each in caught if issubclass(each.category, RuntimeWarning)]
    if outcome in ("labels", "refused") and numeric:
        outcome = f"a numerical warning: {numeric[0].message} ({numeric[0].filename})"
    return f"{kind}, {system}", outcome


def _kind(random: Any, *, sees: bool) -> str:
    """A kind of input: of systems that read images these in most attempts."""
    kinds = SEEN if sees and random.random() < IMAGES_SEEN else KINDS
    return kinds[int(random.integers(len(kinds)))]


def judged(error: Exception) -> str:
    """Whether an exception is a documented refusal, or what is wrong with it."""
    places = [place.filename for place in traceback.extract_tb(error.__traceback__)]
    message = str(error)
    said = f"{type(error).__name__}: {message}"[:300]
    if not isinstance(error, ValueError | TypeError):
        return said
    if not any(part in places[-1] for part in REFUSING):
        return f"raised in {places[-1]}: {said}"
    if not any(word in message for word in NAMED):
        return f"names nothing: {said}"
    return "refused"


def _fit(kind: str, made: int, chosen: dict[str, Any], random: Any) -> str:
    make = MAKERS[kind]
    table = make(default_rng(made))
    n = _count(table)
    weights = sample_weight(random, n)
    parameters = _parameters(chosen)
    state = parameters.get("random_state")
    if isinstance(state, np.random.RandomState):
        parameters["random_state"] = np.random.RandomState(3)
    estimator = ESTIMATORS[chosen["system"]]
    first = estimator(**parameters).fit(table, sample_weight=weights)
    wrong = _broken(first, n, weights is not None)
    if wrong or not _same(table, make(default_rng(made))):
        return wrong or "the input was changed"
    if isinstance(state, np.random.RandomState):
        parameters["random_state"] = np.random.RandomState(3)
    again = estimator(**parameters).fit(make(default_rng(made)), sample_weight=weights)
    if not np.array_equal(first.labels_, again.labels_):
        return "other labels the second time"
    if random.random() < BELIEF:
        wrong = _broken_belief(first)
    if not wrong and random.random() < MORE:
        method = FURTHER[int(random.integers(len(FURTHER)))]
        again_of = kind if random.random() < 0.3 else _kind(random, sees=chosen["sees"])
        wrong = _broken_answer(first, method, MAKERS[again_of](random))
    return wrong or "labels"


def _fit_images(kind: str, made: int, chosen: dict[str, Any], random: Any) -> str:
    """The same of MiCE, whose trained clusters are fixed."""
    table = MAKERS[kind](default_rng(made))
    n, model = _count(table), coterie.MiCE(**_parameters(chosen), train=False).fit(table)
    labels, memberships = model.labels_, model.probabilities_
    promises = {
        "a label for each image": labels.shape == (n,) and labels.dtype.kind == "i",
        "labels are of clusters": 0 <= labels.min() <= labels.max() < model.n_clusters_,
        "by falling size": (np.diff(np.bincount(labels)) <= 0).all(),
        "memberships for each image": memberships.shape == (n, model.n_clusters_),
        "memberships are finite": np.isfinite(memberships).all(),
        "memberships sum to 1": abs(memberships.sum(1) - 1).max() < 1e-6,
        "the same for the same images": np.array_equal(
            labels, model.predict(MAKERS[kind](default_rng(made)))
        ),
    }
    wrong = next((f"broken: {what}" for what, holds in promises.items() if not holds), "")
    if not wrong and random.random() < MORE:
        further = MAKERS[_kind(random, sees=True)](random)
        wrong = "" if len(model.predict_proba(further)) == _count(further) else "lost images"
    return wrong or "labels"


def _parameters(chosen: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in chosen.items() if name not in ("system", "sees")}


def _broken_answer(model: AmortizedClusterer, method: str, further: Any) -> str:
    """What is wrong with the answer to one more question, which may be refused."""
    if not hasattr(model, method):  # clusters without a density
        return ""
    if method == "sample":
        rows, labels = model.sample(7, random_state=0)
        return "" if len(rows) == len(labels) == 7 and np.isfinite(rows).all() else "no 7 rows"
    answer = getattr(model, method)(further)
    if method == "fit":
        return ""
    count = answer.shape[1] if method == "sample_partitions" else len(answer)
    wanted = len(model.labels_) if further is None else _count(further)  # None: the fitted rows
    return "" if count == wanted else f"{method} answers for {count} rows"


def _broken(model: AmortizedClusterer, n: int, weighted: bool) -> str:
    """The first broken promise about fitted labels, empty if there is none."""
    labels, k = model.labels_, model.n_clusters_
    bounds = Constraints.of(model.n_clusters, model.min_cluster_size, model.noise)
    sizes = np.bincount(labels + 1, minlength=k + 1)[1:]
    probabilities = model.probabilities_
    promises = {
        "integers": labels.dtype.kind == "i",
        "a label for each row": labels.shape == (n,),
        "from 0, or -1 for noise": n > 0 and labels.min() >= (-1 if model.noise else 0),
        "every cluster has rows": len(sizes) == k and (weighted or min(sizes) > 0),
        "by falling size": weighted or model.context_size or (np.diff(sizes) <= 0).all(),
        "n_clusters": bounds.at_least <= k <= (bounds.at_most or k),
        "min_cluster_size": weighted
        or model.context_size
        or k == bounds.at_least
        or min(sizes) >= model.min_cluster_size,
        "memberships for each row": probabilities.shape == (n, k),
        "memberships are finite": np.isfinite(probabilities).all(),
        "memberships sum to 1": abs(probabilities.sum(1) - 1).max() < 1e-6,
    }
    return next((f"broken: {what}" for what, holds in promises.items() if not holds), "")


def _broken_belief(model: AmortizedClusterer) -> str:
    belief, agreement = model.k_probabilities_, model.expected_agreement_
    if not np.isfinite(belief).all() or abs(belief.sum() - 1) > 1e-6 or belief.min() < 0:
        return "broken: the belief in k is no distribution"
    if agreement is not None and not -1 <= agreement <= 1:
        return f"broken: an expected agreement of {agreement}"
    return ""


def _count(table: Any) -> int:
    """The rows of what may be a table, 1 for what has none."""
    shape = getattr(table, "shape", None)
    if isinstance(shape, tuple):
        return int(shape[0]) if shape else 1
    return len(table) if isinstance(table, Sized) else 1


def _same(table: Any, fresh: Any) -> bool:
    """Whether arrays and frames of pandas are as they were made."""
    if type(table) is np.ndarray and table.dtype != object:
        return table.dtype.kind == "V" or np.array_equal(table, fresh, equal_nan=_is_real(table))
    return bool(table.equals(fresh)) if hasattr(table, "iloc") else True


def _is_real(table: np.ndarray) -> bool:
    return table.dtype.kind in "biuf"
