"""A fitted estimator in one file, for rows that come later.

The file is safetensors with a JSON header: settings, how columns become numbers, frame, rule and,
where the rule needs it, the network. It does not hold the labels of the fitted rows, but up to
2,000 of these as the network reads them, by which later rows are compared with them. Nothing is
unpickled.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import coterie
from coterie.estimators.fitted import Fitted
from coterie.inference.packing import pack
from coterie.weights.format import FORMAT_VERSION, save_tensors

MODEL_FORMAT = 1


def save(estimator: Any, path: str | Path) -> Path:
    """Write a fitted estimator; the file appears whole or not at all."""
    fitted: Fitted = estimator.fitted_
    packed = pack(
        (
            (fitted.frame, fitted.rule, fitted.noise),
            estimator._encoding,
            estimator._familiar(),
        )
    )
    names = getattr(estimator, "feature_names_in_", None)
    model = {
        "format": MODEL_FORMAT,
        "coterie": coterie.__version__,
        "estimator": type(estimator).__name__,
        "settings": _settings(estimator.get_params()),
        "n_columns": int(estimator.n_features_in_),
        "columns": None if names is None else [str(name) for name in names],
        "sizes": [int(size) for size in estimator._sizes],
        "n_noise": int(estimator._n_noise),
        "fitted": packed.value,
    }
    path = Path(path)
    save_tensors(path, packed.tensors, {"version": FORMAT_VERSION, "model": model})
    return path


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as JSON; a generator of random numbers is not kept."""
    return {name: _plain(value) for name, value in given.items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(each) for each in value]
    return None
