"""Read a fitted estimator from the file that `save` wrote."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from torch import Tensor

from coterie.estimators.amortized import AmortizedClusterer
from coterie.estimators.fitted import Fitted
from coterie.estimators.mice import MiCE
from coterie.estimators.registry import ESTIMATORS, IMAGE_ESTIMATORS
from coterie.estimators.saved import MODEL_FORMAT
from coterie.frames.encoded_table import TableEncoding
from coterie.frames.images import EncodedImages
from coterie.frames.plain import PlainColumns
from coterie.frames.standard import StandardColumns
from coterie.inference.drift import Familiar
from coterie.inference.packing import RULES, Packed, unpack
from coterie.systems.mice.mice import MiCE as Network
from coterie.weights.format import WeightsError, load_system, load_tensors

# What a foreign or edited header may raise while it is read.
UNREADABLE = (
    *(AttributeError, IndexError, KeyError, OverflowError, RecursionError, RuntimeError),
    *(TypeError, ValueError),
)


def load(path: str | Path) -> Any:
    """The fitted estimator of a file that `save` wrote, ready to predict.

    A `MiCE` is its weights: any of its weights files will do.
    """
    path = Path(path)
    if not path.is_file():
        raise WeightsError(f"no model at {path}")
    try:
        tensors, header = load_tensors(path)
    except RecursionError as error:
        raise WeightsError(f"{path} is damaged: its header is nested too deeply") from error
    card = header.get("card")
    if isinstance(card, dict) and card.get("system") in IMAGE_ESTIMATORS:
        return _of_images(path)
    if not isinstance(header.get("model"), dict):
        raise WeightsError(
            f"{path} holds weights, not a fitted model; a model is written by"
            " `coterie cluster --save` or by `save`"
        )
    model = header["model"]
    if model.get("format") != MODEL_FORMAT:
        raise WeightsError(
            f"{path} is a model of format {model.get('format')!r}, this coterie reads"
            f" {MODEL_FORMAT}: it may be newer"
        )
    try:
        return _restored(model, tensors)
    except UNREADABLE as error:
        raise WeightsError(f"{path} is not a readable model: {error}") from error


def _of_images(path: Path) -> MiCE:
    system, card = load_system(path)
    model = IMAGE_ESTIMATORS[card.system](path, n_clusters=card.traits.k_max)
    model._network = cast(Network, system.to(model._device()))
    model.n_clusters_ = cast(int, card.traits.k_max)
    return model


def _restored(model: Mapping[str, Any], tensors: dict[str, Tensor]) -> AmortizedClusterer:
    classes: dict[str, Any] = {each.__name__: each for each in ESTIMATORS.values()}
    estimator: AmortizedClusterer = classes[model["estimator"]](
        **{name: _given(value) for name, value in model["settings"].items()}
    )
    (frame, rule, noise), encoding, familiar = unpack(Packed(model["fitted"], tensors))
    if not (
        isinstance(frame, EncodedImages | PlainColumns | StandardColumns)
        and isinstance(rule, RULES)
        and isinstance(encoding, TableEncoding | None)
        and isinstance(familiar, Familiar)
    ):
        raise TypeError("a part is of another kind")
    estimator.n_features_in_ = int(model["n_columns"])
    if model["columns"] is not None:
        estimator.feature_names_in_ = np.array(model["columns"], dtype=object)
    estimator._encoding = encoding
    estimator.left_out_ = () if encoding is None else encoding.left_out
    estimator.fitted_ = Fitted(frame, rule, bool(noise))
    estimator.n_clusters_ = estimator.fitted_.n_clusters
    estimator._known = familiar
    estimator._sizes = np.array(model["sizes"], dtype=np.intp)
    estimator._n_noise = int(model["n_noise"])
    width = estimator.n_features_in_ if encoding is None else len(encoding.names)
    estimator.fitted_.predict(np.zeros((1, width)))  # parts that do not fit are found out here
    return estimator


def _given(value: Any) -> Any:
    """A parameter as it was given: a range or names, of which JSON makes a list."""
    return tuple(value) if isinstance(value, list) else value
