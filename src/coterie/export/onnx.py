"""AMCP as two ONNX graphs, one that encodes a set and one that takes a step.

The loop between them is a dozen lines in any language (`examples/without_torch.py`): encode once,
then step until a step claims nothing or nothing remains. Both graphs take any number of points.
"""

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from coterie.functional.reduce import count_points
from coterie.systems.amcp import AMCP
from coterie.systems.amcp_network import Features
from coterie.weights.catalogue import open_model
from coterie.weights.format import Card

ENCODER, STEP = "encoder.onnx", "step.onnx"
FEATURES = ("place", *Features._fields[1:])
CARRIED = ("remaining", "finished", "refused")
OPSET = 18


class Exported(NamedTuple):
    """Where the two graphs are."""

    encoder: Path
    step: Path


class Encoder(nn.Module):
    """Points (1, N, D) -> what a step reads of each of them, and the state before the first."""

    def __init__(self, system: AMCP) -> None:
        super().__init__()
        self.system = system

    def forward(self, points: Tensor) -> tuple[Tensor, ...]:
        """place (1, N, D or 0), score, pool, key (1, N, W), promise (1, N, 1), then the state."""
        remaining = torch.ones_like(points[..., 0], dtype=torch.bool)
        features, _ = self.system.encode(points, remaining)
        finished = points.new_zeros(1, 1, self.system.config.width)
        return *features, remaining, finished, torch.zeros_like(points[..., :1])


class Step(nn.Module):
    """One step of the loop, without what only serves later readers of the commits."""

    def __init__(self, system: AMCP) -> None:
        super().__init__()
        self.system = system

    def forward(
        self,
        place: Tensor,
        score: Tensor,
        pool: Tensor,
        key: Tensor,
        promise: Tensor,
        remaining: Tensor,
        finished: Tensor,
        refused: Tensor,
    ) -> tuple[Tensor, ...]:
        """claimed (1, N) bool, logits (1, N), -inf for those not on offer, then the next state.

        remaining (1, N) bool; finished (1, 1, C), what the clusters found left to later ones;
        refused (1, N, 1), log of how surely each point was refused by all of them.
        """
        features = Features(place, score, pool, key, promise)
        n_points = count_points(torch.ones_like(remaining))
        found = self.system.find(features, remaining, n_points, finished, refused)
        refused = refused + logsigmoid(-found.logits)[..., None]
        remaining = remaining & ~found.claimed
        return found.claimed, found.logits, remaining, finished + found.summary, refused


def export_onnx(weights: str | Path, folder: Path) -> Exported:
    """Write the graphs of an AMCP network, by shipped name or weights file, into a folder."""
    system, card = open_model(weights)
    if not isinstance(system, AMCP):
        raise ValueError(
            f"{str(weights)!r} is of the system {card.system!r}; only amcp is exported"
        )
    if system.config.encode_every:
        raise ValueError(f"{str(weights)!r} encodes anew after steps, which these graphs do not")
    folder.mkdir(parents=True, exist_ok=True)
    points = torch.zeros(1, 8, card.columns)
    encoder, step = Encoder(system).eval(), Step(system).eval()
    with torch.no_grad():
        state = encoder(points)
    inputs = (*FEATURES, *CARRIED)
    target = Exported(folder / ENCODER, folder / STEP)
    _write(target.encoder, encoder, {"points": points}, inputs, card)
    outputs = ("claimed", "logits", *(f"{name}_after" for name in CARRIED))
    _write(target.step, step, dict(zip(inputs, state, strict=True)), outputs, card)
    return target


def _write(
    path: Path, module: nn.Module, inputs: dict[str, Tensor], outputs: tuple[str, ...], card: Card
) -> None:
    """One graph with its card; every input but `finished` has a free number of points."""
    n_points = torch.export.Dim("n_points", min=1)
    shapes: dict[str, Any] = {name: {} if name == "finished" else {1: n_points} for name in inputs}
    with _hushed_exporter():
        program = torch.onnx.export(
            module,
            tuple(inputs.values()),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_shapes=tuple(shapes.values()),
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    assert program is not None  # torch gives None only without dynamo
    program.model.metadata_props["coterie"] = json.dumps(asdict(card))
    program.save(str(path), external_data=False)


@contextmanager
def _hushed_exporter() -> Iterator[None]:
    """Without torch's remarks on its own insides and on packages that nobody needs here."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
