"""AMCP as two ONNX graphs: one encodes a set, one takes a step. ACT-ST is a single graph.

The loop between them is a dozen lines in any language (`examples/without_torch.py`): encode once,
then step until a step claims nothing or nothing remains. Both graphs take any number of points, in
the frame that their card names; ONNX has no eigenvectors, so the frame is not a graph but a few
lines of numpy there.
"""

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from coterie.export.onnx_mixture import ExportedMixture, export_mixture
from coterie.export.onnx_writing import write_graph
from coterie.functional.diffusion import Walks
from coterie.functional.reduce import count_points
from coterie.systems.act_st.joint_loss import ACTST
from coterie.systems.amcp.parts import Features
from coterie.systems.amcp.steps import AMCP
from coterie.weights.catalogue import open_model

ENCODER, STEP = "encoder.onnx", "step.onnx"
FEATURES = ("place", "score", "pool", "key", "promise")
CARRIED = ("remaining", "finished", "refused")
WALKED = ("near", "degree", "ends", "crowd")  # only for networks with landmarks
WITHOUT_POINTS = ("finished", "degree", "ends", "crowd")


class Exported(NamedTuple):
    """Paths of the two graphs."""

    encoder: Path
    step: Path


class EncoderGraph(nn.Module):
    """Points (1, N, D) -> the features that a step reads, and the initial state."""

    def __init__(self, system: AMCP) -> None:
        super().__init__()
        self.system = system

    def forward(self, points: Tensor) -> tuple[Tensor, ...]:
        """place (1, N, D or 0), score, pool, key (1, N, W), promise (1, N, 1), then the state.

        With landmarks also near (1, N, L), degree and crowd (1, L), ends (1, M, L, L).
        """
        remaining = torch.ones_like(points[..., 0], dtype=torch.bool)
        features, _ = self.system.network.encode(points, remaining)
        *read, near, walks = features
        finished = self.system.nothing_finished(points)
        told = (*read, remaining, finished, torch.zeros_like(points[..., :1]))
        return told if near is None or walks is None else (*told, near, *walks)


class StepGraph(nn.Module):
    """One step of the loop, without the outputs that only later replays need."""

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
        near: Tensor | None = None,
        degree: Tensor | None = None,
        ends: Tensor | None = None,
        crowd: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """claimed (1, N) bool, logits (1, N), -inf for points already taken, then the next state.

        remaining (1, N) bool; finished (1, 1, C), summary of the clusters found so far;
        refused (1, N, 1), log-probability that none of them claims the point.
        """
        walks = None
        if degree is not None and ends is not None and crowd is not None:
            walks = Walks(degree, ends, crowd)
        features = Features(place, score, pool, key, promise, near, walks)
        n_points = count_points(torch.ones_like(remaining))
        found = self.system.find(features, remaining, n_points, finished, refused)
        refused = refused + logsigmoid(-found.logits)[..., None]
        remaining = remaining & ~found.claimed
        return found.claimed, found.logits, remaining, finished + found.summary, refused


def export_onnx(weights: str | Path, folder: Path) -> Exported | ExportedMixture:
    """Write the graphs of a network, a shipped model or a weights file, to a folder."""
    system, card = open_model(weights)
    if isinstance(system, ACTST):
        return export_mixture(system, card, folder)
    if not isinstance(system, AMCP):
        raise ValueError(
            f"{str(weights)!r} is of the system {card.system!r}; only amcp and act_st are exported"
        )
    if not system.encodes_once:
        raise ValueError(
            f"{str(weights)!r} re-encodes after steps, which ONNX export does not support"
        )
    points = torch.zeros(1, 8 + system.n_landmarks, card.traits.columns)  # so that none is missing
    encoder, step = EncoderGraph(system).eval(), StepGraph(system).eval()
    with torch.no_grad():
        state = encoder(points)
    inputs = (*FEATURES, *CARRIED, *(WALKED if system.n_landmarks else ()))
    target = Exported(folder / ENCODER, folder / STEP)
    write_graph(target.encoder, encoder, {"points": points}, inputs, card)
    outputs = ("claimed", "logits", *(f"{name}_after" for name in CARRIED))
    state_by_name = dict(zip(inputs, state, strict=True))
    write_graph(target.step, step, state_by_name, outputs, card, WITHOUT_POINTS)
    return target
