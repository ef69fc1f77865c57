"""What the estimators of all systems share."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
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
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from coterie.estimators.checks import refuse_bad_values, refuse_odd_arrays, refuse_text
from coterie.estimators.hub import Pretrained
from coterie.frames.plain import MappedTable, fit_columns
from coterie.frames.standard import fit_standard
from coterie.frames.table_columns import column_names
from coterie.frames.table_encoding import Encoded, TableEncoding, fit_encoding
from coterie.inference.assignment import apply, apply_labels
from coterie.inference.belief import Fitted, k_belief
from coterie.inference.constraints import Wishes
from coterie.inference.context import Sample, draw_weighted_context
from coterie.inference.engine import InferenceConfig, Outcome, cluster_points
from coterie.inference.result import NOISE
from coterie.ood.size import unfamiliar, unfamiliar_number, unfamiliar_texture
from coterie.weights.catalogue import open_model
from coterie.weights.format import Card

# What a network looks at that only proposes, see `inference/engine.py`: so many rows for each
# cluster of its largest training sets, and so many at least.
GLANCE, LEAST_GLANCE = 32, 128


class AmortizedClusterer(
    Pretrained, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """A clusterer whose work was done in training: `fit` is a few forward passes."""

    system: ClassVar[str]
    # Settings of a network that only proposes clusters, which consolidation then settles.
    _proposing: ClassVar[dict[str, Any]] = {}
    weights: Any
    n_clusters: int | Sequence[int] | None
    min_cluster_size: int
    noise: bool
    consolidate: bool
    context_size: int | None
    whole_trace: bool
    device: str
    random_state: Any
    _encoding: TableEncoding | None
    _k_belief: NDArray[np.float64] | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weights": [str, Path],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), tuple, list, None],
        "min_cluster_size": [Interval(Integral, 1, None, closed="left")],
        "noise": ["boolean"],
        "consolidate": ["boolean"],
        "context_size": [Interval(Integral, 1, None, closed="left"), None],
        "whole_trace": ["boolean"],
        "device": [str],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the clusters of X (n, d), an array or a data frame; y is ignored.

        What is done with the gaps, categories and dates of a data frame, `encoders/table_encoding`
        says, and a warning names the columns. An array must hold finite numbers.

        sample_weight (n,): whole numbers mean that a row is there as often; where their sum is
        beyond `context_size`, and for other numbers, they decide how often it is drawn. A row of
        weight zero has no part in the clusters, but gets a label. Equal weights change nothing.
        Sizes, by which clusters are numbered and dissolved, are sums of weights, in units of their
        mean where they are no whole numbers. What fills the gaps of a data frame takes no weights.
        """
        table, said = self._check(X, reset=True)
        changes = self._changes()
        network, card = open_model(self.weights, self.device, **changes)
        if card.system != self.system:
            raise ValueError(
                f"weights {str(self.weights)!r} are of the system {card.system!r},"
                f" {type(self).__name__} needs {self.system!r}"
            )
        exact, proposes = None, self.consolidate and card.has_density
        if proposes:
            network, _ = open_model(self.weights, self.device, **{**changes, **self._proposing})
        elif card.scaling != "robust":
            exact, _ = open_model(self.weights, self.device, torch.float64, **changes)
        random_state = check_random_state(self.random_state)
        context_size = card.context_size if self.context_size is None else self.context_size
        sample = self._sample(table, sample_weight, context_size, random_state)
        self._columns = fit_columns(
            table if sample is None else table[sample.rows],
            card.columns,
            card.scaling,
            groups=None if self._encoding is None else self._encoding.groups,
            random_state=random_state,
        )
        points = MappedTable(table, self._columns)
        config = replace(self._inference(), context_size=context_size)
        if not proposes:
            config = replace(config, temperature=card.temperature)
        else:
            glance = max(GLANCE * card.settings["k_max"], LEAST_GLANCE)
            config = replace(config, glance=glance, whole_trace=self.whole_trace)
        columns = min(table.shape[1], card.columns)
        lens_for = partial(fit_standard, width=card.columns) if card.scaling == "robust" else None
        outcome = cluster_points(
            network,  # type: ignore[arg-type]
            points,
            config,
            random_state,
            columns=columns,
            exact=exact,  # type: ignore[arg-type]
            lens_for=lens_for,
            sample=sample,
        )
        projected = _projected(table.shape[1], card.columns)
        strange = unfamiliar(points[: card.context_size], card.sizes)
        strange += _strange(outcome, card, config.wishes)
        notes = (*said, *projected, *strange, *outcome.clustering.warnings)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=3)  # above scikit-learn's wrapper of fit
        self._rule, self._noise = outcome.rule, outcome.noise
        self._fitted = Fitted(network, outcome, config, columns, lens_for)  # type: ignore[arg-type]
        self._k_belief = None
        self.clustering_ = replace(outcome.clustering, warnings=notes)
        self.trace_ = outcome.clustering.steps
        self.labels_ = outcome.clustering.labels
        self.probabilities_ = outcome.clustering.probabilities
        self.n_clusters_ = outcome.clustering.n_clusters
        return self

    @property
    def k_probabilities_(self) -> NDArray[np.float64]:
        """The probability of each number of clusters, computed when first asked for: (K + 1,).

        `k_probabilities_[k]` is that of k clusters; none has zero, more than K have none left.
        """
        check_is_fitted(self)
        if self._k_belief is None:
            self._k_belief = k_belief(self._fitted)
        belief = self._k_belief.view()
        belief.flags.writeable = False
        return belief

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """The cluster of each row of X (n, d), by the rule that `fit` left."""
        points = self._read(X)
        return apply_labels(self._rule, points, noise=self._noise)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probability of each cluster for each row of X: (n, k)."""
        points = self._read(X)
        return apply(self._rule, points).probabilities

    def transform(self, X: ArrayLike) -> Any:
        """The memberships of `predict_proba` (n, k), as further steps of a pipeline want them.

        With `set_output` they are a data frame with a column for each cluster.
        """
        return self.predict_proba(X)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_clusters_)

    def sample_partitions(
        self, n_samples: int = 10, *, random_state: Any = None
    ) -> NDArray[np.intp]:
        """Draw labels of the fitted rows from their memberships: (n_samples, n).

        Given the clusters the rows are independent, so each draw asks for every row which cluster
        claims it. Labels of a draw mean the same clusters as `labels_`; noise stays noise.
        """
        check_is_fitted(self)
        uniform = check_random_state(random_state).uniform(size=(n_samples, len(self.labels_), 1))
        claimed = uniform > self.probabilities_.cumsum(1)[None, :, :-1]
        return np.where(self.labels_ == NOISE, NOISE, claimed.sum(2))

    def _changes(self) -> dict[str, Any]:
        """Settings of the network that the user wants otherwise than in training."""
        return {}

    def _read(self, X: ArrayLike) -> MappedTable:
        """Further rows as the fitted network reads them."""
        check_is_fitted(self)
        table, notes = self._check(X, reset=False)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=3)  # where predict was called
        return MappedTable(table, self._columns)

    def _sample(
        self,
        table: NDArray,
        sample_weight: ArrayLike | None,
        context_size: int,
        random_state: np.random.RandomState,
    ) -> Sample | None:
        """The context, where weights have a say in it."""
        if sample_weight is None:
            return None
        weights = _check_sample_weight(
            sample_weight, table, dtype=np.float64, ensure_non_negative=True
        )
        return draw_weighted_context(weights, context_size, random_state)

    def _inference(self) -> InferenceConfig:
        return InferenceConfig(
            consolidate=self.consolidate,
            device=self.device,
            wishes=Wishes.of(self.n_clusters, self.min_cluster_size, self.noise),
        )

    def _check(self, X: Any, *, reset: bool) -> Encoded:
        """The numbers of X (n, d), or of a data frame whose columns become d of numbers."""
        refuse_odd_arrays(X)
        if reset:
            self._encoding = None
        is_frame = column_names(X) is not None and 0 not in X.shape
        if is_frame and (reset or self._encoding is not None):
            return self._check_frame(X, reset=reset)
        if is_frame:
            refuse_text(X)
        table = validate_data(
            self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False
        )
        if self._encoding is not None and not self._encoding.is_plain:
            raise ValueError(
                "fit has seen a data frame with columns that are not numbers: give one here too"
            )
        refuse_bad_values(table, getattr(self, "feature_names_in_", None))
        return Encoded(table, ())

    def _check_frame(self, X: Any, *, reset: bool) -> Encoded:
        validate_data(self, X, reset=reset, skip_check_array=True)
        encoding = fit_encoding(X) if self._encoding is None else self._encoding
        self._encoding = encoding
        table, notes = encoding(X)
        refuse_bad_values(table, encoding.names)
        return Encoded(table, (*encoding.notes, *notes) if reset else notes)


def _projected(given: int, width: int) -> tuple[str, ...]:
    if given <= width:
        return ()
    return (
        f"the network reads {width} columns, X has {given}: clustering its first {width}"
        " principal components",
    )


def _strange(outcome: Outcome, card: Card, wishes: Wishes) -> tuple[str, ...]:
    """Remarks on what a network that reads sets in frames of their own has never seen."""
    if card.texture is None:
        return ()
    lie = unfamiliar_texture(outcome.context, card.texture)
    most = max(int(card.settings["k_max"]), wishes.at_least)  # more were wished for
    return (*lie, *unfamiliar_number(outcome.clustering.n_clusters, most))
