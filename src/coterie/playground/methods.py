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
from coterie.inference.result import Step
from coterie.playground.peer_code import peer_code
from coterie.weights.catalogue import Model, models

# What the page starts with: without a second look, and with fewer points to look at, it answers
# between two strokes of the brush.
INITIAL = "amcp-universal-small"
OPTIONS: dict[str, dict[str, Any]] = {INITIAL: {"second_look": False, "context_size": 700}}
K_LIMIT = 10  # how far the peers look that search among numbers of clusters


@dataclass(frozen=True)
class MethodResult:
    """Labels (n,), and what else a method says: probabilities (n, k), steps, warnings."""

    labels: NDArray[np.intp]
    probabilities: NDArray[np.float64] | None = None
    steps: tuple[Step, ...] | None = None
    log_likelihood: float | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Method:
    """A way to cluster points (n, d), with the Python that does the same to an array X."""

    name: str
    title: str
    kind: Literal["system", "peer"]
    details: str
    code: str
    find: Callable[[NDArray[np.float64]], MethodResult]

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
    systems = sorted(map(_system, models()), key=lambda method: not method.is_default)
    others = [_peer(each.name, each.details) for each in peers(K_LIMIT)]
    return {method.name: method for method in (*systems, *others)}


def _system(model: Model) -> Method:
    estimator = ESTIMATORS[model.card.system].__name__
    options = "".join(f", {key}={value}" for key, value in OPTIONS.get(model.name, {}).items())
    return Method(
        model.name,
        model.name,
        "system",
        f"{estimator}, trained on {model.card.trained_on}",
        f"import coterie\n\n"
        f'model = coterie.{estimator}("{model.name}"{options}, random_state=0).fit(X)\n'
        "labels = model.labels_\n",
        partial(_fit, model.name),
    )


def _peer(title: str, details: str) -> Method:
    return Method(
        re.sub(r"[^a-z0-9]+", "-", title.lower()),
        title,
        "peer",
        details,
        peer_code(title, K_LIMIT),
        partial(_ask_peer, title),
    )


def _fit(weights: str, points: NDArray[np.float64]) -> MethodResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the clustering has them too
        model = clusterer(weights, whole_trace=True, random_state=0, **OPTIONS.get(weights, {}))
        clustering = model.fit(points).clustering_
    return MethodResult(
        clustering.labels,
        clustering.probabilities,
        clustering.steps,
        clustering.log_likelihood,
        clustering.warnings,
    )


def _ask_peer(title: str, points: NDArray[np.float64]) -> MethodResult:
    if len(points) < 3:
        raise ValueError(f"{title} needs at least three points")
    (method,) = [each for each in peers(min(K_LIMIT, len(points) - 1)) if each.name == title]
    return MethodResult(by_size(method.cluster(points).labels))  # type: ignore[arg-type]


def by_size(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """The same clusters (n,), numbered 0..k-1 by falling size."""
    _, numbered, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    rank = np.empty(len(sizes), dtype=np.intp)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return rank[numbered]
