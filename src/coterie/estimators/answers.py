"""What a fitted estimator answers: labels of further rows, and how far to believe them."""

import copy
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from coterie.estimators.fitted import Fitted
from coterie.estimators.integers import is_integer
from coterie.estimators.reading import TableReader
from coterie.estimators.saved import save
from coterie.frames.images import EncodedImages
from coterie.inference.assignment import apply_labels
from coterie.inference.belief import (
    FitRecord,
    agreement_to_expect,
    k_probabilities,
)
from coterie.inference.drift import Familiar
from coterie.inference.result import NOISE, nearly_as_probable
from coterie.inference.rules.generative import NoDensity, has_density
from coterie.inference.samples import co_assignment, require_pairs


def _may_have_density(model: "Answers") -> bool:
    """Whether `score_samples` has an answer, as far as is known: scikit-learn asks only then."""
    fitted = getattr(model, "fitted_", None)
    return fitted is None or has_density(fitted.rule)


def _reads_images(model: "Answers") -> bool:
    fitted = getattr(model, "fitted_", None)
    return fitted is not None and isinstance(fitted.frame, EncodedImages)


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
    def stability_(self) -> float | None:
        """The mean agreement (ARI) of the answers of several samples; None for one."""
        return self._fit_record("stability_").outcome.stability

    @property
    def runner_up_(self) -> int | None:
        """Another number of clusters that is nearly as probable as n_clusters_, if there is one."""
        return nearly_as_probable(self.k_probabilities_, self.n_clusters_)

    def _fit_record(self, attribute: str) -> FitRecord:
        """What the fit left behind, for an attribute that is computed on request."""
        check_is_fitted(self)
        if not hasattr(self, "_record"):
            raise AttributeError(f"{attribute} needs a fit, and this model was loaded from a file")
        return self._record

    def _require_rows(self, method: str) -> None:
        """Refuse a method without X where the fitted rows are not there."""
        self._fit_record(f"{method} without X")

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """The cluster of each row of X (n, d), by the rule found in `fit`."""
        table = self._read(X)
        return self.fitted_.predict(table)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probability of each cluster for each row of X: (n, k)."""
        table = self._read(X)
        return self.fitted_.predict_proba(table)

    @available_if(_reads_images)
    def embed(self, X: ArrayLike) -> NDArray[np.float32]:
        """The vectors of images X in which the network looked for clusters: (n, C).

        Of weights that read images, once they are fitted.
        """
        return self.fitted_.frame(self._read(X))

    @available_if(_may_have_density)
    def score_samples(self, X: ArrayLike) -> NDArray[np.float64]:
        """The log-density of each row of X (n, d) under the clusters found: (n,).

        Clusters have a density where the weights say so: Gaussians, or with `ending="network"` what
        the network found; and where a mixture of Gaussians was found to describe the rows. It is
        the density of the columns as they are; where the network reads principal components or
        standardised columns it is one of these. Images have a lower bound of it.
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
        n_samples = number_of_draws(n_samples)
        if cluster is not None and not (is_integer(cluster) and 0 <= cluster < self.n_clusters_):
            raise ValueError(
                f"cluster must be 0 to {self.n_clusters_ - 1}, the clusters found, got {cluster!r}"
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
        self, X: ArrayLike | None = None, n_samples: int = 10, *, random_state: Any = None
    ) -> NDArray[np.intp]:
        """Draw labels of the rows of X (n, d), or of the fitted rows, n_samples times: (S, n).

        Given the clusters found in `fit`, the rows are independent, so every row is drawn on its
        own, from its memberships. The clusters themselves are not in doubt here: labels of a draw
        denote the same clusters as `labels_`; noise stays noise. (`NCP` and `CHiGac` draw
        whole partitions.)

        `sample_partitions(20)` draws labels of the fitted rows 20 times.
        """
        check_is_fitted(self)
        X, n_samples = rows_and_draws(X, n_samples)
        if X is None:
            self._require_rows("sample_partitions")
            labels, probabilities = self.labels_, self.probabilities_
        else:
            table = self._read(X)
            labels, probabilities = self.fitted_.predict(table), self.fitted_.predict_proba(table)
        uniform = check_random_state(random_state).uniform(size=(n_samples, len(labels), 1))
        claimed = uniform > probabilities.cumsum(1)[None, :, :-1]
        return np.where(labels == NOISE, NOISE, claimed.sum(2))

    def co_assignment(
        self, X: ArrayLike | None = None, n_samples: int = 100, *, random_state: Any = None
    ) -> NDArray[np.float64]:
        """The share of `sample_partitions` in which two rows have one cluster: (n, n).

        Of at most 10,000 rows, since the matrix takes 8 n^2 bytes.
        """
        X, n_samples = rows_and_draws(X, n_samples)
        if X is None:
            self._require_rows("co_assignment")
        require_pairs(len(self.labels_) if X is None else count_rows(X))
        return co_assignment(self.sample_partitions(X, n_samples, random_state=random_state))


def rows_and_draws(X: Any, n_samples: int) -> tuple[Any, int]:
    """The rows and the number of draws, which may be given alone: `sample_partitions(20)`."""
    if isinstance(X, Integral):
        X, n_samples = None, X
    return X, number_of_draws(n_samples)


def number_of_draws(n_samples: Any) -> int:
    """The number of draws, if it is one."""
    if not is_integer(n_samples) or n_samples < 1:
        raise ValueError(f"n_samples must be an integer of 1 or more, got {n_samples!r}")
    return int(n_samples)


def count_rows(X: Any) -> int:
    """The number of rows of what may not be a table yet; zero where it has none."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple):
        return int(shape[0]) if len(shape) >= 2 else 0
    return len(X) if isinstance(X, Sized) else 0
