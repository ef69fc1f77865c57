"""What a fitted estimator answers: labels of further rows, and how far to believe them."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from coterie.estimators.fitted import Fitted
from coterie.estimators.reading import TableReader
from coterie.estimators.saved import save
from coterie.inference.assignment import apply_labels
from coterie.inference.belief import (
    FitRecord,
    agreement_to_expect,
    k_probabilities,
    nearly_as_probable,
)
from coterie.inference.drift import Familiar
from coterie.inference.result import NOISE
from coterie.inference.rules.generative import NoDensity


class Answers(TableReader):
    """The questions that every fitted clusterer answers."""

    fitted_: Fitted
    labels_: NDArray[np.intp]
    probabilities_: NDArray[np.float64]
    n_clusters_: int
    n_features_in_: int
    weights: Any
    _record: FitRecord
    _range: tuple[NDArray, NDArray]
    _k_probabilities: NDArray[np.float64] | None
    _expected_agreement: float | None
    _known: Familiar | None

    @property
    def k_probabilities_(self) -> NDArray[np.float64]:
        """The probability of each number of clusters, computed on first access: (K + 1,).

        `k_probabilities_[k]` is the probability of k clusters. Entry 0 is zero; counts above K have
        zero probability.
        """
        record = self._fit_record("k_probabilities_")
        if self._k_probabilities is None:
            self._k_probabilities = k_probabilities(record)
        view = self._k_probabilities.view()
        view.flags.writeable = False
        return view

    @property
    def expected_agreement_(self) -> float | None:
        """The agreement with the true clusters to be expected, computed on first access."""
        record = self._fit_record("expected_agreement_")
        if self._expected_agreement is None:
            self._expected_agreement = agreement_to_expect(record)
        return self._expected_agreement

    @property
    def runner_up_(self) -> int | None:
        """Another number of clusters that is nearly as probable as n_clusters_, if there is one."""
        return nearly_as_probable(self.k_probabilities_, self.n_clusters_)

    def _fit_record(self, attribute: str) -> FitRecord:
        """What the fit left behind, for an attribute that is computed on request."""
        check_is_fitted(self)
        if not hasattr(self, "_record"):
            raise AttributeError(f"{attribute} needs the fit itself, and this model was loaded")
        return self._record

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """The cluster of each row of X (n, d), by the rule found in `fit`."""
        table = self._read(X)
        return self.fitted_.predict(table)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probability of each cluster for each row of X: (n, k)."""
        table = self._read(X)
        return self.fitted_.predict_proba(table)

    def score_samples(self, X: ArrayLike) -> NDArray[np.float64]:
        """The log-density of each row of X (n, d) under the clusters found: (n,).

        Clusters have a density where the weights say so: Gaussians, or with `ending="network"` what
        the network found. The density is one of the columns as they are; where the network reads
        principal components or standardised columns it is one of these. Images have a lower bound
        of it.
        """
        table = self._read(X)
        with self._density_or_error("score_samples"):
            return self.fitted_.log_density(table)

    def sample(
        self, n_samples: int = 1, cluster: int | None = None, *, random_state: Any = None
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Draw rows from the density of all clusters, or of one: X (n_samples, d), labels (n,).

        Rows come in the order of their clusters, as those of scikit-learn's mixtures.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"n_samples must be 1 or more, got {n_samples}")
        if cluster is not None and not 0 <= cluster < self.n_clusters_:
            raise ValueError(
                f"cluster must be 0 to {self.n_clusters_ - 1}, the clusters found, got {cluster}"
            )
        n_columns = self.n_features_in_
        if self._encoding is not None:
            if self._encoding.categories:
                raise ValueError("rows with categories cannot be sampled")
            n_columns = len(self._encoding.names)
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        with self._density_or_error("sample"):
            return self.fitted_.sample(n_samples, n_columns, cluster, seed)

    @contextmanager
    def _density_or_error(self, name: str) -> Iterator[None]:
        try:
            yield
        except NoDensity as error:
            raise ValueError(
                f"{name} needs clusters with a density: {error} (weights {str(self.weights)!r})"
            ) from None

    def transform(self, X: ArrayLike) -> Any:
        """The memberships of `predict_proba` (n, k), for further steps of a pipeline.

        With `set_output` they are a data frame with a column for each cluster.
        """
        return self.predict_proba(X)

    def unlike(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which rows of X (n, d) are unlike those fitted: (n,).

        About one in a hundred where nothing has changed: these rows are farther from the fitted
        ones than 99 in 100 of these are from each other, or have a value far out of the range of
        its column.
        """
        table = self._read(X)
        return self._familiar().unlike(self.fitted_.frame(table), table)

    def save(self, path: str | Path) -> Path:
        """Write the fitted model to a file, for `coterie.load` and `coterie predict`.

        It holds the clusters, the columns and how they are encoded, the settings and, if need be,
        the network; no labels of the fitted rows.
        """
        check_is_fitted(self)
        return save(self, path)

    def _familiar(self) -> Familiar:
        """Where the fitted rows are."""
        if self._known is None:
            outcome = self._record.outcome
            labels = apply_labels(outcome.rule, outcome.context)
            self._known = Familiar.of(outcome.context, labels, *self._range)
        return self._known

    def predictor(self, device: str = "cpu") -> Self:
        """A copy for `predict`, `predict_proba` and `transform` alone, on a device.

        It holds nothing of the fitted rows and little of the network, so it is small enough to be
        sent to many machines. It can be pickled and used by several threads.
        """
        check_is_fitted(self)
        light = copy.copy(self)
        for name in ("labels_", "probabilities_", "clustering_", "trace_", "_record", "_range"):
            light.__dict__.pop(name, None)
        light._k_probabilities = light._expected_agreement = light._known = None
        light.fitted_ = self.fitted_.shipped(device)
        return light

    @property
    def _n_features_out(self) -> int:
        return int(self.n_clusters_)

    def sample_partitions(
        self, n_samples: int = 10, *, random_state: Any = None
    ) -> NDArray[np.intp]:
        """Draw labels of the fitted rows from their memberships: (n_samples, n).

        Given the clusters the rows are independent, so every row is drawn on its own. Labels of a
        draw denote the same clusters as `labels_`; noise stays noise.
        """
        check_is_fitted(self)
        uniform = check_random_state(random_state).uniform(size=(n_samples, len(self.labels_), 1))
        claimed = uniform > self.probabilities_.cumsum(1)[None, :, :-1]
        return np.where(self.labels_ == NOISE, NOISE, claimed.sum(2))
