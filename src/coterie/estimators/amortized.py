"""What the estimators of all systems share."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from coterie.estimators.checks import refuse_bad_values, refuse_odd_arrays, refuse_text
from coterie.estimators.deprecation import DEPRECATED, ending_of
from coterie.estimators.fitted import Fitted
from coterie.estimators.hub import Pretrained
from coterie.estimators.panel import judged_ending
from coterie.estimators.saved import save
from coterie.frames.column_roles import LeftOut
from coterie.frames.encoded_table import Encoded, EncodedTable, TableEncoding
from coterie.frames.fitting import fit_frame
from coterie.frames.protocol import FramedTable
from coterie.frames.standard import MAX_ROWS, NUMERIC
from coterie.frames.table_columns import TOO_LARGE, column_names, with_distinct_names
from coterie.frames.table_encoding import ColumnChoice, fit_encoding
from coterie.inference.assignment import apply_labels
from coterie.inference.belief import (
    FitRecord,
    agreement_to_expect,
    judged_rows,
    k_probabilities,
    nearly_as_probable,
)
from coterie.inference.constraints import Constraints
from coterie.inference.context import Sample, draw_context, draw_weighted_context
from coterie.inference.drift import Familiar
from coterie.inference.endings import ENDINGS, Ending, EndingName, choose_ending
from coterie.inference.engine import InferenceConfig, Outcome, cluster_points
from coterie.inference.hashed_draw import draw_by_value
from coterie.inference.outliers import scattered
from coterie.inference.result import NOISE
from coterie.ood.size import cluster_count_warnings, size_warnings, texture_warnings
from coterie.systems.protocol import Direct, Sequential
from coterie.weights.catalogue import open_card, open_model
from coterie.weights.format import Card

# Where the likelihood decides, the network sees this many rows for each cluster of its largest
# training sets, and at least so many, see `inference/engine.py`.
PROPOSAL_POINTS_PER_CLUSTER, LEAST_PROPOSAL_POINTS = 32, 128


class AmortizedClusterer(
    Pretrained, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """A clusterer whose work was done in training: `fit` is a few forward passes."""

    system: ClassVar[str]
    # Settings of a network whose proposals the likelihood decides on.
    _proposing: ClassVar[dict[str, Any]] = {}
    # Whether the network may divide each cluster when it sees it alone.
    second_look: bool = False
    weights: Any
    n_clusters: int | Sequence[int] | None
    min_cluster_size: int
    noise: bool
    columns: Sequence[str] | None
    exclude: Sequence[str] | None
    categorical: Sequence[str] | None
    ending: EndingName
    context_size: int | None
    whole_trace: bool
    device: str
    random_state: Any
    consolidate: bool | str
    left_out_: tuple[LeftOut, ...]
    _encoding: TableEncoding | None
    _k_probabilities: NDArray[np.float64] | None
    _expected_agreement: float | None
    _known: Familiar | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weights": [str, Path],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), tuple, list, None],
        "min_cluster_size": [Interval(Integral, 1, None, closed="left")],
        "noise": ["boolean"],
        "columns": ["array-like", None],
        "exclude": ["array-like", None],
        "categorical": ["array-like", None],
        "ending": [StrOptions(set(ENDINGS))],
        "context_size": [Interval(Integral, 1, None, closed="left"), None],
        "whole_trace": ["boolean"],
        "device": [str],
        "random_state": ["random_state"],
        "consolidate": ["boolean", StrOptions({DEPRECATED})],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the clusters of X (n, d), an array or a data frame; y is ignored.

        In a data frame, gaps are filled and categories encoded; identifiers of the rows, dates and
        constants are left out. Warnings name the columns. An array is taken as it is and must hold
        finite numbers.

        sample_weight (n,): integer weights repeat the row. Where their sum exceeds `context_size`,
        and for other weights, they are the relative frequencies with which rows are drawn. A row of
        weight zero does not influence the clusters, but gets a label. Equal weights change nothing.
        Sizes, by which clusters are ordered and dissolved, are sums of weights, in units of their
        mean where they are no integers. The filling of gaps in a data frame ignores weights.
        """
        table, notes = self._check(X, reset=True)
        card = open_card(self.weights)
        if card.system != self.system:
            raise ValueError(
                f"weights {str(self.weights)!r} are of the system {card.system!r},"
                f" {type(self).__name__} needs {self.system!r}"
            )
        traits = card.traits
        ending_name = ending_of(self, traits)
        judge = judged_ending(
            self.weights,
            ending_name,
            traits,
            table.shape[1],
            self.device,
            second_look=self.second_look,
        )
        ending = choose_ending(ending_name, traits, judge)
        network, exact = self._networks(ending)
        config = self._inference(card, ending)
        # Without a seed the draws do not depend on the order of the rows, nor on global state.
        random_state = check_random_state(0 if self.random_state is None else self.random_state)
        sample = self._sample(table, sample_weight, config.context_size, random_state)
        representative = table if sample_weight is None else table[sample.rows]
        if self.noise and traits.frame == "standard":
            sample = self._without_outliers(table, sample)
            representative = table[sample.rows]
        if self.random_state is None and len(representative) > MAX_ROWS:
            representative = representative[draw_by_value(representative, MAX_ROWS)[0]]
        frame = fit_frame(
            representative,
            traits.columns,
            traits.frame,
            groups=None if self._encoding is None else self._encoding.groups,
            random_state=random_state,
        )
        columns = min(table.shape[1], traits.columns)
        framed = FramedTable(table, frame)
        outcome = cluster_points(
            network,
            framed,
            config,
            random_state,
            columns=columns,
            exact=exact,
            sample=sample,
        )
        projected = _projected(table.shape[1], traits.columns)
        strange = size_warnings(outcome.context, card.sizes)
        strange += _strange(outcome, card, config.constraints)
        notes = (*notes, *projected, *strange, *outcome.clustering.warnings)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=3)  # above scikit-learn's wrapper of fit
        self.left_out_ = () if self._encoding is None else self._encoding.left_out
        self.fitted_ = Fitted(frame, outcome.rule, outcome.noise)
        units = None
        if traits.frame == "standard" and outcome.verdict is None:
            judged = outcome.rows[judged_rows(len(outcome.rows))]
            units = framed.units(judged).astype(np.float32)
        self._record = FitRecord(network, outcome, config, columns, units)
        self._k_probabilities = None
        self._expected_agreement = None
        self._known = None
        rows = table[sample.rows]
        self._range = (rows.min(0), rows.max(0))
        self.clustering_ = replace(outcome.clustering, warnings=notes)
        if outcome.verdict is not None:
            self.clustering_ = replace(
                self.clustering_,
                expected_agreement=self.expected_agreement_,
                k_probabilities=self.k_probabilities_,
            )
        self.trace_ = outcome.clustering.steps
        self.labels_ = outcome.clustering.labels
        self.probabilities_ = outcome.clustering.probabilities
        self.n_clusters_ = outcome.clustering.n_clusters
        self._sizes = np.bincount(self.labels_ + 1, minlength=self.n_clusters_ + 1)[1:]
        self._n_noise = int((self.labels_ == NOISE).sum())
        return self

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

    def _changes(self) -> dict[str, Any]:
        """Settings of the network that the user changed from those of training."""
        return {}

    def _networks(self, ending: Ending) -> tuple[Sequential | Direct, Sequential | Direct | None]:
        """The network that finds the clusters and, where the ending needs it, its float64 copy."""
        changes = self._changes()
        if ending.proposes:
            changes |= self._proposing
        network, _ = open_model(self.weights, self.device, **changes)
        if not ending.exact:
            return network, None
        return network, open_model(self.weights, self.device, torch.float64, **changes)[0]

    def _inference(self, card: Card, ending: Ending) -> InferenceConfig:
        k_max = card.traits.k_max
        shown = None  # all points
        if k_max is not None:
            shown = max(PROPOSAL_POINTS_PER_CLUSTER * k_max, LEAST_PROPOSAL_POINTS)
        return InferenceConfig(
            ending=ending,
            second_look=self.second_look,
            context_size=card.context_size if self.context_size is None else self.context_size,
            n_proposal_points=shown,
            whole_trace=self.whole_trace,
            temperature=card.temperature if ending.own else 1.0,
            device=self.device,
            constraints=Constraints.of(self.n_clusters, self.min_cluster_size, self.noise),
        )

    def _read(self, X: ArrayLike) -> NDArray:
        """Further rows as numbers."""
        check_is_fitted(self)
        table, notes = self._check(X, reset=False)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=3)  # where predict was called
        return table

    def _sample(
        self,
        table: NDArray,
        sample_weight: ArrayLike | None,
        context_size: int,
        random_state: np.random.RandomState,
    ) -> Sample:
        """The context: by weights where there are any, by value where there is no seed."""
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, table, dtype=np.float64, ensure_non_negative=True
            )
            return draw_weighted_context(weights, context_size, random_state)
        if self.random_state is None:
            return Sample(draw_by_value(table, context_size)[0])
        return draw_context(len(table), context_size, random_state)

    def _without_outliers(self, table: NDArray, sample: Sample) -> Sample:
        """The context without rows far from all others, which would stretch the frame.

        Indicators of categories do not count: a rare category is no outlier.
        """
        numeric = table
        if self._encoding is not None:
            numeric = table[:, self._encoding.groups == NUMERIC]
        if not numeric.shape[1]:
            return sample
        rows = np.unique(sample.rows)
        outliers = rows[scattered(numeric[rows])]
        return sample._replace(rows=sample.rows[~np.isin(sample.rows, outliers)])

    def _check(self, X: Any, *, reset: bool) -> Encoded:
        """The numbers of X (n, d), or of a data frame whose columns become d of numbers."""
        if isinstance(X, EncodedTable):
            return self._check_encoded(X, reset=reset)
        refuse_odd_arrays(X)
        if reset:
            self._encoding = None
        names = column_names(X)
        if names is not None and not names:
            raise ValueError("X has no columns")
        is_frame = names is not None and 0 not in X.shape
        if is_frame:
            X = with_distinct_names(X)
        if is_frame and (reset or self._encoding is not None):
            return self._check_frame(X, reset=reset)
        if is_frame:
            refuse_text(X)
        elif reset and self._column_choice() != ColumnChoice():
            raise ValueError("columns, exclude and categorical name columns of a data frame")
        try:
            table = validate_data(
                self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False
            )
        except OverflowError:
            raise ValueError(f"X has {TOO_LARGE}") from None
        if self._encoding is not None:
            if not self._encoding.takes_arrays:
                raise ValueError(
                    "fit has seen a data frame with columns that are not numbers: give one here too"
                )
            table = self._encoding.of_array(table)
            refuse_bad_values(table, self._encoding.names)
        refuse_bad_values(table, getattr(self, "feature_names_in_", None))
        return Encoded(table, ())

    def _check_frame(self, X: Any, *, reset: bool) -> Encoded:
        validate_data(self, X, reset=reset, skip_check_array=True)
        if self._encoding is None:
            self._encoding = fit_encoding(X, self._column_choice())
        encoding = self._encoding
        table, notes = encoding(X)
        refuse_bad_values(table, encoding.names)
        return Encoded(table, (*encoding.notes, *notes) if reset else notes)

    def _check_encoded(self, X: EncodedTable, *, reset: bool) -> Encoded:
        """A table that somebody else encoded, who also tells what was changed."""
        if reset:
            self._encoding = X.encoding
            self.n_features_in_ = len(X.encoding.columns)
            self.feature_names_in_ = np.array(X.encoding.columns, dtype=object)
        refuse_bad_values(X.table, X.encoding.names)
        return Encoded(X.table, ())

    def _column_choice(self) -> ColumnChoice:
        given = (self.columns, self.exclude, self.categorical)
        return ColumnChoice(*(() if names is None else tuple(names) for names in given))


def _projected(given: int, width: int) -> tuple[str, ...]:
    if given <= width:
        return ()
    return (
        f"the network reads {width} columns, X has {given}: clustering its first {width}"
        " principal components",
    )


def _strange(outcome: Outcome, card: Card, constraints: Constraints) -> tuple[str, ...]:
    """Remarks on sets that are out of distribution for a network in the standard frame."""
    if card.texture is None:
        return ()
    lie = texture_warnings(outcome.context, card.texture)
    if card.traits.k_max is None:
        return lie
    most = max(card.traits.k_max, constraints.at_least)
    return (*lie, *cluster_count_warnings(outcome.clustering.n_clusters, most))
