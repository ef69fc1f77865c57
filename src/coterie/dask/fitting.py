"""The clusters of the drawn rows, found by a worker.

The client loads neither torch nor weights: that would take a core from the workers and hold up the
scheduler, which shares the client's process on one machine.
"""

import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.dask.parquet import Columns, Labeller
from coterie.importing import defer_seldom_used, quick_imports
from coterie.inference.result import Clustering

if TYPE_CHECKING:
    from coterie.data.tables.table import Table
    from coterie.estimators.amortized import AmortizedClusterer

LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"


class Asked(NamedTuple):
    """The weights, the settings of their estimator, and on how many threads it may fit.

    n_threads: None for as many as the worker has.
    """

    weights: str
    settings: dict[str, Any]
    n_threads: int | None = None


class Labelling(NamedTuple):
    """How files will be labelled: the columns, what fills their gaps (d,), and the tag of the run.

    written, confident: as those of a `Labeller`.
    """

    columns: Columns
    medians: NDArray[np.float64]
    tag: str
    written: tuple[str, ...] | None
    confident: bool


class FoundClusters(NamedTuple):
    """The clusters of the drawn rows.

    labeller: a pickled `Labeller`, which only workers need to load; clustering: without the labels
    and probabilities of the rows; notes: warnings of the fit.
    """

    labeller: bytes
    clustering: Clustering
    stability: float | None
    notes: tuple[str, ...]


def open_weights(asked: Asked, n_columns: int) -> int:
    """Load ahead what a fit of so many columns needs; on how many rows it finds clusters."""
    return _model(asked)._open_ahead(n_columns)._most_rows()


def submit_fit(client: Any, opened: Any, asked: Asked, table: "Table", labelling: Labelling) -> Any:
    """A future of `FoundClusters` for the rows of a table, after the future of `open_weights`."""
    import dask

    loaded = client.who_has([opened])[opened.key]  # nobody, if that worker was lost just now
    preference = {"workers": loaded, "allow_other_workers": True} if loaded else {}
    # The rows are part of the task: where a worker is lost, the scheduler has them still.
    with dask.config.set({LARGE_GRAPH: "100 GB"}):
        return client.submit(find_clusters, asked, table, labelling, pure=False, **preference)


def find_clusters(asked: Asked, table: "Table", labelling: Labelling) -> FoundClusters:
    """Fit the estimator to the drawn rows of a table."""
    model = _model(asked)
    with warnings.catch_warnings(record=True) as caught, _threads(asked.n_threads):
        warnings.simplefilter("always", UserWarning)
        model.fit_drawn(table.encoded, table.n_rows)
    columns, medians, tag, written, confident = labelling
    fitted = model.fitted_.shipped("cpu")
    labeller = Labeller(columns, medians, fitted, tag, written, confident)
    found = model.clustering_
    nobody = replace(
        found, labels=found.labels[:0], probabilities=found.probabilities[:0], steps=()
    )
    notes = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    return FoundClusters(pickle.dumps(labeller), nobody, model.stability_, notes)


def _model(asked: Asked) -> "AmortizedClusterer":
    defer_seldom_used()
    with quick_imports():
        import sklearn.neighbors  # noqa: F401  (which the first fit would import)

        from coterie.estimators.registry import clusterer
    return clusterer(asked.weights, **asked.settings)


@contextmanager
def _threads(number: int | None) -> Iterator[None]:
    """Let torch use so many threads meanwhile: the other workers wait for the clusters."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
