"""ACT-ST as one ONNX graph: a set to its mixture and to the memberships of its points."""

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from coterie.export.onnx_writing import write_graph
from coterie.functional.em import expectation
from coterie.functional.stopping import n_steps_taken
from coterie.systems.act_st.joint_loss import ACTST
from coterie.weights.format import Card

MIXTURE = "mixture.onnx"
OUTPUTS = ("log_probabilities", "n_clusters", "log_weight", "mean", "log_scale")


class ExportedMixture(NamedTuple):
    """Path of the graph."""

    mixture: Path


class MixtureGraph(nn.Module):
    """Points (1, N, D) -> memberships and mixture of the step at which the network stops."""

    def __init__(self, system: ACTST) -> None:
        super().__init__()
        self.system = system

    def forward(self, points: Tensor) -> tuple[Tensor, ...]:
        """log_probabilities (1, N, K), n_clusters (1,), then the mixture (1, K), (1, K, D) twice.

        K is the step limit; the clusters after the first n_clusters have probability zero.
        """
        mask = torch.ones_like(points[..., 0], dtype=torch.bool)
        decoded = self.system.network(points, mask, self.system.config.step_limit)
        n_clusters = n_steps_taken(decoded.going_on)
        mixture = decoded.at(n_clusters)
        return expectation(points, mixture)[0], n_clusters, *mixture


def export_mixture(system: ACTST, card: Card, folder: Path) -> ExportedMixture:
    """Write the graph of an ACT-ST network to a folder."""
    points = torch.zeros(1, 8, card.traits.columns)
    target = ExportedMixture(folder / MIXTURE)
    write_graph(target.mixture, MixtureGraph(system).eval(), {"points": points}, OUTPUTS, card)
    return target
