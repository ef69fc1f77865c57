"""A method that takes part in a comparison, and our estimators as such methods."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.estimators.amortized import AmortizedClusterer
from coterie.frames.encoded_table import EncodedTable, TableEncoding


class Answer(NamedTuple):
    """Labels (n,), and where the densities are the network's own, the log-likelihood it claims."""

    labels: NDArray[np.intp]
    network_log_likelihood: float | None = None


class Method(NamedTuple):
    """A way to cluster points (n, D) without knowing the truth; details say how it was set."""

    name: str
    details: str
    cluster: Callable[[NDArray[np.float32]], Answer]


def amortized(
    name: str,
    model: AmortizedClusterer,
    encoding: TableEncoding | None = None,
    *,
    claims: bool | None = None,
) -> Method:
    """An estimator as its user meets it: one set, one fit.

    encoding: by which the points were made of a table, where they were; claims: whether the
    likelihood is the network's own, None for: where it has the last word.
    """
    if claims is None:
        claims = model.ending == "network"

    def fit(points: NDArray[np.float32]) -> Answer:
        model.fit(points if encoding is None else EncodedTable(points, encoding))
        claimed = model.clustering_.log_likelihood if claims else None
        return Answer(model.labels_, claimed)

    return Method(name, f"{model!r}, weights {model.weights}", fit)
