"""What takes part in a race, and our own entries."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.estimators.amortized import AmortizedClusterer
from coterie.estimators.registry import clusterer
from coterie.weights.catalogue import find
from coterie.weights.format import load_card


class Answer(NamedTuple):
    """Labels (n,), and where the network has the last word, the log-likelihood it claims."""

    labels: NDArray[np.intp]
    network_log_likelihood: float | None = None


class Method(NamedTuple):
    """A way to cluster points (n, D) without knowing the truth; details say how it was set."""

    name: str
    details: str
    cluster: Callable[[NDArray[np.float32]], Answer]


def amortized(name: str, model: AmortizedClusterer) -> Method:
    """An estimator as its user meets it: one set, one fit."""

    def fit(points: NDArray[np.float32]) -> Answer:
        model.fit(points)
        claimed = None if model.consolidate else model.clustering_.log_likelihood
        return Answer(model.labels_, claimed)

    return Method(name, f"{model!r}, weights {model.weights}", fit)


def ours(weights: Sequence[str | Path]) -> tuple[Method, ...]:
    """Shipped models or weights files; those with a density with and without consolidation.

    Samples of large sets are seeded, as the peers are: the same command gives the same labels.
    """
    methods = []
    for each in weights:
        name, card = str(each), load_card(find(each))
        methods.append(amortized(name, clusterer(each, random_state=0)))
        if card.has_density:
            raw = clusterer(each, consolidate=False, random_state=0)
            methods.append(amortized(f"{name}, as the network says", raw))
    return tuple(methods)
