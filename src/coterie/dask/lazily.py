"""The second pass: labels and memberships of each partition, when they are asked for."""

import warnings
from typing import TYPE_CHECKING, Any

import dask
import numpy as np

from coterie.dask.partitions import is_frame, naming, whole_rows

if TYPE_CHECKING:
    from coterie.estimators.amortized import AmortizedClusterer

LABEL = "cluster"


def lazily_labelled(model: "AmortizedClusterer", X: Any) -> Any:
    """The labels of a collection: a series, or an array of one dimension."""
    return _over(X, _labels, model, columns=None)


def lazily_mapped(model: "AmortizedClusterer", X: Any) -> Any:
    """The memberships of a collection: a frame with a column for each cluster, or an array."""
    return _over(X, _memberships, model, columns=[*model.get_feature_names_out()])


def _over(X: Any, function: Any, model: "AmortizedClusterer", columns: list[str] | None) -> Any:
    # A node of its own: it is sent to each worker once, and again where a worker was lost.
    sent = dask.delayed(model.predictor(), pure=False)
    if is_frame(X):
        return X.map_partitions(
            _framed, function, sent, model.device, columns, meta=_meta(X._meta, columns)
        )
    X = whole_rows(X)
    if columns is None:
        meta = np.empty(0, dtype=np.int64)
        return X.map_blocks(
            _block, function, sent, model.device, dtype=meta.dtype, drop_axis=1, meta=meta
        )
    return X.map_blocks(
        _block,
        function,
        sent,
        model.device,
        dtype=np.float64,
        chunks=(X.chunks[0], (len(columns),)),
        meta=np.empty((0, len(columns))),
    )


def _meta(like: Any, columns: list[str] | None) -> Any:
    import pandas as pd

    if columns is None:
        return pd.Series([], index=like.index[:0], dtype=np.int64, name=LABEL)
    return pd.DataFrame(np.empty((0, len(columns))), index=like.index[:0], columns=columns)


def _framed(
    part: Any,
    function: Any,
    model: "AmortizedClusterer",
    device: str,
    columns: list[str] | None,
    partition_info: Any = None,
) -> Any:
    empty = _meta(part, columns)
    if not len(part):
        return empty
    with naming(f"partition {_number(partition_info)}"):
        values = function(_there(model, device), part)
    if columns is None:
        return type(empty)(values, index=part.index, name=LABEL)
    return type(empty)(values, index=part.index, columns=columns)


def _block(
    part: Any, function: Any, model: "AmortizedClusterer", device: str, block_id: Any = None
) -> Any:
    if not len(part):
        return function(model, np.zeros((1, part.shape[1])))[:0]
    with naming(f"partition {block_id[0] if block_id else '?'}"):
        return function(_there(model, device), part)


def _there(model: "AmortizedClusterer", device: str) -> "AmortizedClusterer":
    """The model on the device of this worker."""
    return model if device == "cpu" else model.predictor(device)


def _labels(model: "AmortizedClusterer", part: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fit has told of gaps and categories
        return model.predict(part).astype(np.int64, copy=False)


def _memberships(model: "AmortizedClusterer", part: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.predict_proba(part)


def _number(partition_info: Any) -> Any:
    return "?" if partition_info is None else partition_info["number"]
