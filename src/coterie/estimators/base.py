"""What the estimators of all systems share."""

import warnings
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie.encoders.tabular import MappedTable, fit_columns
from coterie.estimators.checks import refuse_bad_values, refuse_text
from coterie.inference.engine import InferenceConfig, apply, apply_labels, cluster_points
from coterie.weights.catalogue import open_model


class AmortizedClusterer(ClusterMixin, BaseEstimator):
    """A clusterer whose work was done in training: `fit` is a few forward passes."""

    system: ClassVar[str]
    weights: Any
    consolidate: bool
    context_size: int
    device: str
    random_state: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weights": [str, Path],
        "consolidate": ["boolean"],
        "context_size": [Interval(Integral, 1, None, closed="left")],
        "device": [str],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Find the clusters of X (n, d); y is ignored."""
        table = self._check(X, reset=True)
        network, card = open_model(self.weights, self.device, **self._changes())
        if card.system != self.system:
            raise ValueError(
                f"weights {str(self.weights)!r} are of the system {card.system!r},"
                f" {type(self).__name__} needs {self.system!r}"
            )
        exact, _ = open_model(self.weights, self.device, torch.float64, **self._changes())
        self._columns = fit_columns(table, card.columns)
        outcome = cluster_points(
            network,  # type: ignore[arg-type]
            MappedTable(table, self._columns),
            self._inference(),
            check_random_state(self.random_state),
            columns=min(table.shape[1], card.columns),
            exact=exact,  # type: ignore[arg-type]
        )
        notes = (*_notes(table.shape[1], card.columns), *outcome.clustering.warnings)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=3)  # above scikit-learn's wrapper of fit
        self._rule = outcome.rule
        self.clustering_ = replace(outcome.clustering, warnings=notes)
        self.trace_ = outcome.clustering.steps
        self.labels_ = outcome.clustering.labels
        self.probabilities_ = outcome.clustering.probabilities
        self.n_clusters_ = outcome.clustering.n_clusters
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """The cluster of each row of X (n, d), by the rule that `fit` left."""
        points = self._read(X)
        return apply_labels(self._rule, points, self._inference().chunk_size)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probability of each cluster for each row of X: (n, k)."""
        points = self._read(X)
        return apply(self._rule, points, self._inference().chunk_size).probabilities

    def sample_partitions(
        self, n_samples: int = 10, *, random_state: Any = None
    ) -> NDArray[np.intp]:
        """Draw labels of the fitted rows from their memberships: (n_samples, n).

        Given the clusters the rows are independent, so each draw asks for every row which cluster
        claims it. Labels of a draw mean the same clusters as `labels_`.
        """
        check_is_fitted(self)
        uniform = check_random_state(random_state).uniform(size=(n_samples, len(self.labels_), 1))
        claimed = uniform > self.probabilities_.cumsum(1)[None, :, :-1]
        return claimed.sum(2)

    def _changes(self) -> dict[str, Any]:
        """Settings of the network that the user wants otherwise than in training."""
        return {}

    def _read(self, X: ArrayLike) -> MappedTable:
        """Further rows as the fitted network reads them."""
        check_is_fitted(self)
        return MappedTable(self._check(X, reset=False), self._columns)

    def _inference(self) -> InferenceConfig:
        return InferenceConfig(
            consolidate=self.consolidate, context_size=self.context_size, device=self.device
        )

    def _check(self, X: ArrayLike, *, reset: bool) -> NDArray:
        refuse_text(X)
        table = validate_data(
            self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False
        )
        refuse_bad_values(table, getattr(self, "feature_names_in_", None))
        return table


def _notes(given: int, width: int) -> tuple[str, ...]:
    if given <= width:
        return ()
    return (
        f"the network reads {width} columns, X has {given}: clustering its first {width}"
        " principal components",
    )
