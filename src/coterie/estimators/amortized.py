"""What the estimators of all systems share."""

import copy
import warnings
from collections.abc import Sequence
from dataclasses import replace
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
from sklearn.utils._param_validation import StrOptions

from coterie.estimators.answers import Answers, count_rows
from coterie.estimators.checks import checked_weights, refuse_no_pixels
from coterie.estimators.deprecation import ending_of
from coterie.estimators.fitted import Fitted
from coterie.estimators.found import Found, projected, renumbered, strange_remarks, unstable_remark
from coterie.estimators.hub import Pretrained
from coterie.estimators.integers import Integers
from coterie.estimators.panel import judged_ending
from coterie.frames.column_roles import LeftOut
from coterie.frames.encoded_table import Encoded, EncodedTable
from coterie.frames.fitting import fit_frame
from coterie.frames.images import MOST_IMAGES, EncodedImages, fit_images
from coterie.frames.protocol import NUMERIC, Frame, FramedTable
from coterie.frames.table_columns import (
    column_names,
    take_rows,
    with_distinct_names,
)
from coterie.inference.assignment import apply
from coterie.inference.belief import (
    FitRecord,
    judged_rows,
)
from coterie.inference.config import InferenceConfig
from coterie.inference.constraints import Constraints
from coterie.inference.context import Sample, draw_weighted_context
from coterie.inference.described import described
from coterie.inference.endings import ENDINGS, Ending, EndingName, choose_ending
from coterie.inference.engine import cluster_points
from coterie.inference.hashed_draw import (
    MAX_ROWS,
    draw_by_value,
    draw_contexts,
    draw_rows,
    in_hashed_order,
    salt_of,
    salted,
)
from coterie.inference.many_axes import many_axes
from coterie.inference.outliers import scattered
from coterie.inference.result import NOISE
from coterie.inference.row_hashes import row_hashes
from coterie.inference.threads import one_thread_if_small
from coterie.ood.size import size_warnings
from coterie.systems.protocol import Direct, Sequential
from coterie.systems.traits import Traits
from coterie.weights.catalogue import open_card, open_model
from coterie.weights.format import Card, WeightsError

# Where the likelihood decides, the network sees this many rows for each cluster of its largest
# training sets, and at least so many, see `inference/engine.py`.
PROPOSAL_POINTS_PER_CLUSTER, LEAST_PROPOSAL_POINTS = 32, 128
N_CONTEXTS = 5  # of a large table, of networks that read every set in a frame of its own
NEARLY = 1.25  # times the context of the weights: so few rows more are read whole, at once


class AmortizedClusterer(
    Pretrained,
    Answers,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """A clusterer whose work was done in training: `fit` is a few forward passes."""

    system: ClassVar[str]
    # Settings of a network whose proposals the likelihood decides on.
    _proposing: ClassVar[dict[str, Any]] = {}
    # Whether the network may divide each cluster when it sees it alone.
    second_look: bool = False
    # How often a network that draws at random is run; None: as its weights say.
    n_restarts: int | None = None
    weights: Any
    n_clusters: int | Sequence[int] | None
    min_cluster_size: int
    noise: bool
    ending: EndingName
    context_size: int | None
    whole_trace: bool
    device: str
    random_state: Any
    left_out_: tuple[LeftOut, ...]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weights": [str, Path],
        "n_clusters": [Integers(1), tuple, list, None],
        "min_cluster_size": [Integers(1)],
        "noise": ["boolean"],
        "columns": ["array-like", None],
        "exclude": ["array-like", None],
        "categorical": ["array-like", None],
        "ending": [StrOptions(set(ENDINGS))],
        "context_size": [Integers(1), None],
        "whole_trace": ["boolean"],
        "device": [str],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the clusters of X (n, d), an array or a data frame; y is ignored.

        Weights that read images take X as (n, H, W), (n, H, W, C) or (n, C, H, W) of bytes or of
        numbers in [0, 1]; another size is resized, with a warning.

        In a data frame, gaps are filled and categories encoded; identifiers of the rows, dates and
        constants are left out. Warnings name the columns. An array is taken as it is and must hold
        finite numbers.

        With more than 100,000 rows, or context_size where that is more, everything is found on so
        many of them, drawn by value, and all rows are labelled.

        sample_weight (n,): integer weights repeat the row. Where their sum exceeds `context_size`,
        and for other weights, they are the relative frequencies with which rows are drawn. A row of
        weight zero does not influence the clusters, but gets a label. Equal weights change nothing.
        Sizes, by which clusters are ordered and dissolved, are sums of weights, in units of their
        mean where they are no integers. The filling of gaps in a data frame ignores weights.
        """
        if _is_equal_everywhere(sample_weight, count_rows(X)):
            sample_weight = None
        ending = self._ending_name()
        sampled = sample_weight is None and count_rows(X) > self._most_rows()
        found = self._fit_sample(X, ending) if sampled else self._find(X, ending, sample_weight)
        return self._keep(found, stacklevel=4)  # above scikit-learn's wrapper of fit

    def fit_drawn(self, X: Any, n_rows: int) -> Self:
        """Find the clusters on rows X (m, d) that were drawn from a table of n_rows.

        As `fit` does with tables of more than 100,000 rows, for those who draw the rows elsewhere.
        `min_cluster_size` counts rows of the table; `labels_` are those of X.
        """
        self._validate_params()
        ending = self._ending_name()
        found = self._find(X, ending, n_rows=n_rows if n_rows > count_rows(X) else None)
        return self._keep(found, stacklevel=3)

    def _fit_sample(self, X: Any, ending: EndingName) -> Found:
        """The clusters of a sample of a large table X (n, d), and the labels of all its rows."""
        is_frame = column_names(X) is not None
        if is_frame:
            X = with_distinct_names(X)
        elif not isinstance(X, EncodedTable):
            X = self._check(X, reset=True).table
        values = X.table if isinstance(X, EncodedTable) else X
        (rows,) = draw_rows(salted(row_hashes(values), self._salt()), self._most_rows())
        drawn = take_rows(values, rows)
        if isinstance(X, EncodedTable):
            drawn = replace(X, table=drawn)
        found = self._find(drawn, ending, n_rows=count_rows(X))
        del drawn  # a third of the memory that labelling needs
        table, notes = self._check_as_sampled(X) if is_frame else Encoded(values, ())
        fitted = found.fitted
        labels, probabilities = apply(fitted.rule, fitted.points(table), noise=fitted.noise)
        clustering = replace(
            found.clustering,
            labels=labels,
            probabilities=probabilities,
            steps=tuple(renumbered(step, rows) for step in found.clustering.steps),
            warnings=tuple(dict.fromkeys((*found.notes, *notes))),
        )
        return found._replace(clustering=clustering)

    def _check_as_sampled(self, X: Any) -> Encoded:
        """All rows of a data frame, as those of a sample of it were read just now."""
        if self._encoding is not None:
            return self._check_frame(X, reset=False)
        image = self._card().traits.image
        assert image is not None  # only frames of pixels are not encoded
        return self._check_images(X, image, reset=False)

    def _find(
        self,
        X: Any,
        ending_name: EndingName,
        sample_weight: ArrayLike | None = None,
        n_rows: int | None = None,
    ) -> Found:
        """The clusters of X (n, d); n_rows: of the table, where X is a sample of it."""
        table, notes = self._check(X, reset=True)
        card = self._card()
        traits = card.traits
        with one_thread_if_small(len(table)):  # opening weights is many small steps
            ending = self._ending(ending_name, traits, table.shape[1])
            network, exact = self._networks(ending)
        config = self._inference(card, ending)
        if n_rows is not None:
            share = len(table) / n_rows
            smallest = max(1, round(share * self.min_cluster_size))
            config = replace(
                config, constraints=replace(config.constraints, min_cluster_size=smallest)
            )
            if self._encoding is not None and not isinstance(X, EncodedTable):
                notes = self._encoding.notes  # without those on gaps, which are of the sample
        # Without a seed the draws do not depend on global state.
        random_state = check_random_state(0 if self.random_state is None else self.random_state)
        samples = self._samples(table, sample_weight, config.context_size, random_state)
        representative = slice(None) if sample_weight is None else samples[0].rows
        if self.noise and traits.frame == "standard":
            samples = [self._without_outliers(table, sample) for sample in samples]
            representative = samples[0].rows
        if traits.reads_images:
            encoded = self._fit_images(network, table[representative], traits)
            frame: Frame = encoded
            notes = (*notes, *encoded.notes)
            columns = table.shape[1]
        else:
            refuse_no_pixels(table, traits)
            with one_thread_if_small(max(table.shape)):
                frame = self._fit_frame(table[representative], traits)
            columns = min(table.shape[1], traits.columns)
        framed = FramedTable(table, frame)
        outcome = cluster_points(
            network,
            framed,
            config,
            random_state,
            columns=columns,
            exact=exact,
            contexts=samples,
        )
        if outcome.frame is None and not traits.reads_images:
            notes = (*notes, *projected(table.shape[1], traits.columns))
        notes = (
            *notes,
            *size_warnings(outcome.context[:, : frame.width], card.sizes),
            *strange_remarks(outcome, card, config.constraints),
            *unstable_remark(outcome.stability),
            *outcome.clustering.warnings,
        )
        units = None
        if traits.frame == "standard" and outcome.verdict is None:
            judged = outcome.rows[judged_rows(len(outcome.rows))]
            units = framed.units(judged).astype(np.float32)
        drawn = table[outcome.rows]
        return Found(
            Fitted(outcome.frame or frame, outcome.rule, outcome.noise),
            replace(outcome.clustering, warnings=notes),
            FitRecord(network, outcome, config, columns, units),
            self._encoding,
            (drawn.min(0), drawn.max(0)),
        )

    def _ending(self, name: EndingName, traits: Traits, n_columns: int) -> Ending:
        judge = judged_ending(
            self.weights, name, traits, n_columns, self.device, second_look=self.second_look
        )
        ending = choose_ending(name, traits, judge)
        if name == "auto" and traits.frame == "standard":
            ending = described(many_axes(ending, second_look=self.second_look))
        return ending

    def _open_ahead(self, n_columns: int) -> Self:
        """Read the files that `fit` would read for a table of so many columns."""
        self._networks(self._ending(self._ending_name(), self._card().traits, n_columns))
        return self

    def _fit_frame(self, table: NDArray, traits: Traits) -> Frame:
        """The frame of a table (n, d), the same to the last bit for rows in any order."""
        if traits.frame == "standard" or table.shape[1] > traits.columns:
            if len(table) > MAX_ROWS:
                table = table[draw_by_value(table, MAX_ROWS, salt=self._salt())[0]]
            table = table[in_hashed_order(table)]
        groups = None if self._encoding is None else self._encoding.groups
        return fit_frame(table, traits.columns, traits.frame, groups=groups)

    def _fit_images(self, network: Any, table: NDArray, traits: Traits) -> EncodedImages:
        """The encoder of images (n, C H W), the same for rows in any order."""
        own = bool(getattr(self, "own_statistics", True)) and network.set_statistics
        if own or network.n_axes:
            if len(table) > MOST_IMAGES:
                table = table[draw_by_value(table, MOST_IMAGES, salt=self._salt())[0]]
            table = table[in_hashed_order(table)]
        return fit_images(network, traits.item_shape, table, own_statistics=own)

    def _image(self, *, reset: bool) -> tuple[int, ...] | None:
        if not reset and isinstance(self.fitted_.frame, EncodedImages):
            return self.fitted_.frame.image
        try:
            return self._card().traits.image
        except WeightsError:  # of a model that was loaded without them
            if reset:
                raise
            return None

    def _reads_images(self, *, reset: bool) -> bool:
        if not reset:
            return isinstance(self.fitted_.frame, EncodedImages)
        return self._card().traits.reads_images

    def _keep(self, found: Found, stacklevel: int) -> Self:
        """Warn of what the user should know, and set the fitted attributes."""
        for note in found.notes:
            warnings.warn(note, UserWarning, stacklevel=stacklevel)
        self.left_out_ = () if found.encoding is None else found.encoding.left_out
        self.fitted_ = found.fitted
        self._record = found.record
        self._k_probabilities = None
        self._expected_agreement = None
        self._known = None
        self._range = found.range
        self.n_clusters_ = found.clustering.n_clusters
        self.clustering_ = found.clustering
        if found.record.outcome.verdict is not None:
            self.clustering_ = replace(
                self.clustering_,
                expected_agreement=self.expected_agreement_,
                k_probabilities=self.k_probabilities_,
            )
        self.trace_ = found.clustering.steps
        self.labels_ = found.clustering.labels
        self.probabilities_ = found.clustering.probabilities
        self._sizes = np.bincount(self.labels_ + 1, minlength=self.n_clusters_ + 1)[1:]
        self._n_noise = int((self.labels_ == NOISE).sum())
        return self

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
            n_restarts=self.n_restarts or card.traits.restarts,
            temperature=card.temperature if ending.own else 1.0,
            device=self.device,
            constraints=Constraints.of(self.n_clusters, self.min_cluster_size, self.noise),
        )

    def _samples(
        self,
        table: NDArray,
        sample_weight: ArrayLike | None,
        context_size: int,
        random_state: np.random.RandomState,
    ) -> list[Sample]:
        """The contexts: one by weights where there are any, otherwise by value and seed.

        The frame of its own in which a network reads every set is that of few rows: several
        contexts of a large table vote.
        """
        if sample_weight is not None:
            weights = checked_weights(sample_weight, table)
            return [draw_weighted_context(weights, context_size, random_state)]
        n_contexts = N_CONTEXTS if self._card().traits.frame == "standard" else 1
        nearly_all = len(table) <= NEARLY * context_size
        if n_contexts > 1 and nearly_all and self.context_size is None:
            context_size = len(table)
        drawn = draw_contexts(table, context_size, n_contexts, salt=self._salt())
        return [Sample(rows) for rows in drawn]

    def _most_rows(self) -> int:
        """With more rows than this, the frame and the clusters are found on so many of them."""
        card = self._card()
        return max(MAX_ROWS, card.context_size if self.context_size is None else self.context_size)

    def _ending_name(self) -> EndingName:
        return ending_of(self, self._card().traits)

    def _card(self) -> Card:
        card = open_card(self.weights)
        if card.system != self.system:
            raise ValueError(
                f"weights {str(self.weights)!r} are of the system {card.system!r},"
                f" {type(self).__name__} needs {self.system!r}"
            )
        return card

    def _salt(self) -> int:
        """What the seed adds to the hashes of rows; a generator that was given stays as it is."""
        if self.random_state is None:
            return 0
        return salt_of(copy.deepcopy(check_random_state(self.random_state)))

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
        rows = rows[in_hashed_order(table[rows])]
        outliers = rows[scattered(numeric[rows])]
        return sample._replace(rows=sample.rows[~np.isin(sample.rows, outliers)])


def _is_equal_everywhere(sample_weight: ArrayLike | None, n_rows: int) -> bool:
    """Whether all n rows weigh the same, so that the weights say nothing."""
    if sample_weight is None:
        return False
    weights = np.asarray(sample_weight)
    if weights.shape != (n_rows,) or not n_rows or weights.dtype.kind not in "biuf":
        return False
    return bool(weights[0] > 0 and (weights == weights[0]).all() and np.isfinite(weights[0]))
