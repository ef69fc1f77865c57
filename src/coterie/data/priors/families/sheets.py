"""Clusters mapped through a random smooth network that is conditioned on the label."""

import math

import torch

from coterie.data.priors.draws import Drawn, Draws, Plan
from coterie.data.priors.mog import of_cluster

HIDDEN = 24
SHEETS_A_COLUMN = 3


def sheets(plan: Plan, columns: int, used: torch.Tensor, draws: Draws) -> Drawn:
    """Curved sheets of any shape, one for each label; used (B, 1, D) as for blobs.

    A cluster is the image of a low-dimensional Gaussian; all clusters of a set share the network,
    so that they are bent in related ways.
    """
    n_sets, n_points, k_max = plan.shape
    labels = plan.labels
    intrinsic = 1 + draws.choice(3, n_sets, 1, 1)
    latent = draws.normal(n_sets, n_points, 3)
    latent = latent * (torch.arange(3, device=labels.device) < intrinsic)
    bend = draws.uniform(0.15, 0.7, n_sets, 1, 1)
    first = bend * draws.normal(n_sets, 3, HIDDEN)
    own = of_cluster(
        draws.uniform(2.0, 3.0, n_sets, 1, 1) * draws.normal(n_sets, k_max, HIDDEN), labels
    )
    second = draws.normal(n_sets, HIDDEN, HIDDEN) / math.sqrt(HIDDEN)
    last = draws.normal(n_sets, HIDDEN, columns) / math.sqrt(HIDDEN)
    seen = (latent @ first + own).tanh()
    image = (1.5 * seen @ second).tanh() @ last  # (B, N, D)
    # Sheets need space: on a line any two would overlap, and in the plane more than three often do.
    needed = 2 + (plan.n_clusters - 1) // SHEETS_A_COLUMN
    room = torch.arange(columns, device=labels.device) < needed[:, None, None]
    fuzz = draws.log_uniform(0.005, 0.08, n_sets, 1, 1)
    return Drawn((image + fuzz * draws.normal(*image.shape)) * torch.maximum(used, room), labels)
