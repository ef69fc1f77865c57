"""Estimators that take collections of dask beside what others take."""

import warnings
from typing import Any, Self

import numpy as np

from coterie.dask.gather import gather
from coterie.dask.lazily import lazily_labelled, lazily_mapped
from coterie.dask.partitions import (
    is_collection,
    is_frame,
    partitions_of,
    refuse_other_collections,
)
from coterie.estimators.act_st import ACTST as _ACTST
from coterie.estimators.amcp import AMCP as _AMCP
from coterie.estimators.amortized import AmortizedClusterer
from coterie.estimators.chigac import CHiGac as _CHiGac
from coterie.estimators.dac import DAC as _DAC
from coterie.estimators.ncp import NCP as _NCP
from coterie.frames.column_parts import Remarks
from coterie.frames.encoded_table import Encoded


class OverPartitions(AmortizedClusterer):
    """A clusterer whose tables may be a `dask.dataframe` or a `dask.array`.

    `fit` reads the partitions once: it draws up to 100,000 rows by a hash of their values and finds
    the clusters on them, as the estimators do with tables in memory of more rows than that.
    `predict`, `predict_proba` and `transform` are lazy. The labels do not depend on how the rows
    are divided into partitions, nor on the number of workers, and are those of the estimator in
    memory. `labels_` and `probabilities_` are lazy too; `clustering_` and `trace_` tell of the
    sample.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of X (n, d), a collection or anything that fits into memory."""
        if not is_collection(X):
            return super().fit(X, y, sample_weight)
        if sample_weight is not None:
            raise ValueError("sample_weight is not supported for collections of dask")
        self._validate_params()
        sample = gather(partitions_of(X), _empty(X), self._most_rows(), self._salt())
        self.fit_drawn(sample.rows, sample.n_rows)
        if sample.n_rows > len(sample.rows):
            for note in _missing_notes(X, sample.missing):
                warnings.warn(note, UserWarning, stacklevel=2)
        self.labels_ = self.predict(X)
        self.probabilities_ = self.predict_proba(X)
        return self

    def predict(self, X: Any) -> Any:
        """The cluster of each row of X; lazy where X is."""
        if not is_collection(X):
            return super().predict(X)
        refuse_other_collections(X)
        return lazily_labelled(self, X)

    def predict_proba(self, X: Any) -> Any:
        """The probability of each cluster for each row of X (n, k); lazy where X is."""
        if not is_collection(X):
            return super().predict_proba(X)
        refuse_other_collections(X)
        return lazily_mapped(self, X)

    def _check(self, X: Any, *, reset: bool) -> Encoded:
        """Whatever else is asked is answered for rows in memory."""
        if is_collection(X):
            raise ValueError(
                "X is a collection of dask, which fit, predict, predict_proba and transform take;"
                " this is not supported for it: give rows in memory"
            )
        return super()._check(X, reset=reset)

    def _require_rows(self, method: str) -> None:
        super()._require_rows(method)
        if is_collection(self.labels_):
            raise ValueError(f"the labels of a collection are lazy: give {method} rows, as X")


class ACTST(OverPartitions, _ACTST):
    """`coterie.ACTST` for collections of dask."""


class AMCP(OverPartitions, _AMCP):
    """`coterie.AMCP` for collections of dask."""


class CHiGac(OverPartitions, _CHiGac):
    """`coterie.CHiGac` for collections of dask."""


class DAC(OverPartitions, _DAC):
    """`coterie.DAC` for collections of dask."""


class NCP(OverPartitions, _NCP):
    """`coterie.NCP` for collections of dask."""


def _empty(X: Any) -> Any:
    """A partition without rows, with the columns and types of all."""
    return X._meta if is_frame(X) else np.empty((0, X.shape[1]), dtype=X.dtype)


def _missing_notes(X: Any, missing: Any) -> tuple[str, ...]:
    remarks = Remarks()
    for name, number in zip(X.columns if is_frame(X) else (), missing, strict=False):
        if number:
            remarks.count("missing values", str(name), int(number))
    return remarks.sentences()
