"""The ways to cluster that the playground offers: every shipped model, and the peers."""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from coterie.comparison.peers import peers
from coterie.estimators.registry import DEFAULT, ESTIMATORS, clusterer
from coterie.inference.result import NOISE, Step
from coterie.playground.peer_code import peer_code
from coterie.playground.peer_search import K_LIMIT, find_clusters, search_of
from coterie.playground.wishes import Wishes
from coterie.systems.traits import Traits
from coterie.weights.catalogue import Model, models

# What the page starts with: without a second look, and with fewer points to look at, it answers
# between two strokes of the brush.
INITIAL = "amcp-universal-small"
OPTIONS: dict[str, dict[str, Any]] = {INITIAL: {"second_look": False, "context_size": 700}}


@dataclass(frozen=True)
class MethodResult:
    """Labels (n,), -1 for noise, and what else a method says: probabilities (n, k), steps, ..."""

    labels: NDArray[np.intp]
    probabilities: NDArray[np.float64] | None = None
    steps: tuple[Step, ...] | None = None
    log_likelihood: float | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Method:
    """A way to cluster points (n, d) as wished.

    code_for: the Python that does the same to an array X.
    """

    name: str
    title: str
    kind: Literal["system", "peer"]
    details: str
    code_for: Callable[[Wishes], str]
    find: Callable[[NDArray[np.float64], Wishes], MethodResult]

    @property
    def is_default(self) -> bool:
        """Whether this is what `coterie.cluster` does."""
        return self.name == DEFAULT

    @property
    def is_initial(self) -> bool:
        """Whether the page starts with it."""
        return self.name == INITIAL


@cache
def methods() -> dict[str, Method]:
    """All methods by name, the default first, then our other systems, then the peers."""
    of_points = [model for model in models() if _reads_points(model.card.traits)]
    systems = sorted(map(_system, of_points), key=lambda method: not method.is_default)
    others = [_peer(each.name, each.details) for each in peers(K_LIMIT)]
    return {method.name: method for method in (*systems, *others)}


def _reads_points(traits: Traits) -> bool:
    """Whether a model reads points of the plane, unlike those that only read images."""
    return not (traits.reads_images or traits.reads_pixels)


def _system(model: Model) -> Method:
    estimator = ESTIMATORS[model.card.system].__name__
    return Method(
        model.name,
        model.name,
        "system",
        f"{estimator}, trained on {model.card.trained_on}",
        partial(_system_code, estimator, model.name),
        partial(_fit, model.name),
    )


def _system_code(estimator: str, weights: str, wishes: Wishes) -> str:
    given = {**OPTIONS.get(weights, {}), **wishes.arguments, "random_state": 0}
    options = "".join(f", {name}={value!r}" for name, value in given.items())
    return (
        "import coterie\n\n"
        f'model = coterie.{estimator}("{weights}"{options}).fit(X)\n'
        "labels = model.labels_\n"
    )


def _peer(title: str, details: str) -> Method:
    return Method(
        re.sub(r"[^a-z0-9]+", "-", title.lower()),
        title,
        "peer",
        details,
        lambda wishes: peer_code(title, search_of(title, wishes)),
        partial(_ask_peer, title),
    )


def _fit(weights: str, points: NDArray[np.float64], wishes: Wishes) -> MethodResult:
    given = {**OPTIONS.get(weights, {}), **wishes.arguments}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the clustering has them too
        model = clusterer(weights, whole_trace=True, random_state=0, **given)
        clustering = model.fit(points).clustering_
    return MethodResult(
        clustering.labels,
        clustering.probabilities,
        clustering.steps,
        clustering.log_likelihood,
        clustering.warnings,
    )


def _ask_peer(title: str, points: NDArray[np.float64], wishes: Wishes) -> MethodResult:
    search = search_of(title, wishes)
    return MethodResult(by_size(find_clusters(title, points, search)), warnings=search.remarks)


def by_size(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """The same clusters (n,), numbered 0..k-1 by falling size; noise stays -1."""
    known = labels[labels >= 0]
    numbers, sizes = np.unique(known, return_counts=True)
    rank = np.empty(len(sizes), dtype=np.intp)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    ranked = np.full(len(labels), NOISE, dtype=np.intp)
    ranked[labels >= 0] = rank[np.searchsorted(numbers, known)]
    return ranked
