"""Write a module as an ONNX graph with the card of its weights."""

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from onnxscript import opset18 as op
from torch import Tensor, nn

from coterie.export.onnx_functions import cummax, visit
from coterie.files.replacing import replacing
from coterie.weights.format import Card

OPSET = 18


def write_graph(
    path: Path,
    module: nn.Module,
    inputs: dict[str, Tensor],
    outputs: tuple[str, ...],
    card: Card,
    without_points: tuple[str, ...] = (),
) -> None:
    """Write one graph with its card; the number of points, the second axis, is dynamic.

    without_points: the inputs that have no such axis.
    """
    n_points = torch.export.Dim("n_points", min=1)
    shapes: dict[str, Any] = {
        name: {} if name in without_points else {1: n_points} for name in inputs
    }
    with _quiet_exporter():
        program = torch.onnx.export(
            module,
            tuple(inputs.values()),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_shapes=tuple(shapes.values()),
            opset_version=OPSET,
            dynamo=True,
            custom_translation_table=_TRANSLATIONS,
            verbose=False,
        )
    assert program is not None  # torch returns None only without dynamo
    program.model.metadata_props["coterie"] = json.dumps(asdict(card))
    with replacing(path) as part:
        program.save(str(part), external_data=False)


def _stable_sort(
    values: Any, *, stable: bool = True, dim: int = -1, descending: bool = False
) -> Any:
    """torch.sort, which the exporter lacks; TopK of ONNX is stable."""
    size = op.Shape(values, start=dim, end=dim + 1)
    return op.TopK(values, size, axis=dim, largest=int(descending))


_TRANSLATIONS: dict[Any, Any] = {
    torch.ops.aten.sort.stable: _stable_sort,
    torch.ops.aten.cummax.default: cummax,
    torch.ops.coterie.visit.default: visit,
}


@contextmanager
def _quiet_exporter() -> Iterator[None]:
    """Suppress the exporter's messages on its internals and on optional packages."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
