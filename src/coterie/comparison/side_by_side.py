"""Several methods on one table: what each finds, and how far they agree."""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import silhouette_score

from coterie import metrics
from coterie.comparison.methods import Method

SILHOUETTE_POINTS = 2000
WARM_UP_POINTS = 64


class Row(NamedTuple):
    """What one method made of the table; refusal: why it made nothing of it.

    Scores are None where they are not defined: silhouette and DBI of a single cluster, agreement
    of a single method, ARI, NMI and ACC where no truth was given.
    """

    method: str
    details: str
    n_clusters: int | None = None
    agreement: float | None = None
    silhouette: float | None = None
    dbi: float | None = None
    ari: float | None = None
    nmi: float | None = None
    acc: float | None = None
    seconds: float | None = None
    notes: tuple[str, ...] = ()
    refusal: str | None = None


class Comparison(NamedTuple):
    """Rows of all methods, and the ARI of each two of them: (m, m), NaN where one refused."""

    rows: tuple[Row, ...]
    agreement: NDArray[np.float64]


def compare(
    points: NDArray[np.float64],
    methods: Sequence[Method],
    truth: NDArray | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Comparison:
    """Run all methods on points (n, d); truth (n,) are the labels that are held to be right.

    Each method gets a few of the points first, untimed: what happens once in a process, such as
    loading weights, compiling and importing, is not charged to whichever method comes first.
    """
    given = np.ascontiguousarray(points, dtype=np.float32)
    labels: list[NDArray[np.intp] | None] = []
    rows = []
    for number, method in enumerate(methods):
        _warm_up(method, given)
        found, row = _run(method, given, truth)
        labels.append(found)
        rows.append(row)
        progress((number + 1) / len(methods))
    agreement = _agreement(labels)
    return Comparison(
        tuple(
            row._replace(agreement=_mean_of_others(agreement, number))
            for number, row in enumerate(rows)
        ),
        agreement,
    )


def _warm_up(method: Method, points: NDArray[np.float32]) -> None:
    few = points[:: -(-len(points) // WARM_UP_POINTS)]
    with warnings.catch_warnings(), suppress(ValueError):  # too few for it, or too strange
        warnings.simplefilter("ignore")
        method.cluster(few)


def _run(
    method: Method, points: NDArray[np.float32], truth: NDArray | None
) -> tuple[NDArray[np.intp] | None, Row]:
    row = Row(method.name, method.details)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            labels = method.cluster(points).labels
    except ValueError as error:  # a table that is too small or too strange for it
        return None, row._replace(refusal=" ".join(str(error).split()))
    seconds = time.perf_counter() - start
    notes = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    row = row._replace(
        n_clusters=len(np.unique(labels)),
        silhouette=_defined(silhouette(points, labels)),
        dbi=_defined(metrics.dbi(points, labels)),
        seconds=seconds,
        notes=notes,
    )
    if truth is not None:
        row = row._replace(
            ari=metrics.ari(truth, labels),
            nmi=metrics.nmi(truth, labels),
            acc=metrics.accuracy(truth, labels),
        )
    return labels, row


def silhouette(points: NDArray[np.float32], labels: NDArray[np.intp]) -> float:
    """The mean silhouette, on SILHOUETTE_POINTS points at most; NaN where it is not defined."""
    if len(points) > SILHOUETTE_POINTS:
        generator = np.random.default_rng(0)
        sample = generator.choice(len(points), SILHOUETTE_POINTS, replace=False)
        points, labels = points[sample], labels[sample]
    if not 2 <= len(np.unique(labels)) < len(points):
        return math.nan
    return float(silhouette_score(points, labels))


def _agreement(labels: Sequence[NDArray[np.intp] | None]) -> NDArray[np.float64]:
    table = np.full((len(labels), len(labels)), np.nan)
    for i, one in enumerate(labels):
        for j, other in enumerate(labels[: i + 1]):
            if one is not None and other is not None:
                table[i, j] = table[j, i] = metrics.ari(one, other)
    return table


def _mean_of_others(agreement: NDArray[np.float64], number: int) -> float | None:
    others = np.delete(agreement[number], number)
    others = others[~np.isnan(others)]
    return float(others.mean()) if len(others) else None


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value
