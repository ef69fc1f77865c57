"""Enclosures: scenes in which one cluster surrounds all others."""

import math

import torch
from torch import Tensor

from coterie.data.priors.draws import Drawn, Draws, Plan
from coterie.data.priors.families.scenes import scenes
from coterie.data.priors.placing import turn
from coterie.functional.reduce import masked_mean

FENCE_POSTS = 40  # with fewer points the surrounding line is not recognisable


def enclosures(plan: Plan, columns: int, used: Tensor, draws: Draws) -> Drawn:
    """A ring or a rectangle around the other clusters of a scene, in two columns."""
    n_sets, n_points, _ = plan.shape
    points, labels = scenes(plan, columns, used, draws)
    fence = labels == plan.n_clusters[:, None] - 1  # a set of one cluster is all fence
    fence = fence & (fence.sum(1, keepdim=True) >= FENCE_POSTS)
    others = plan.mask & ~fence
    middle = masked_mean(points, others)[:, None, :2]
    inside = (points[..., :2] - middle).square().sum(-1).sqrt()
    reach = torch.where(others, inside, 0.0).amax(1)[:, None, None]
    reach = torch.where(reach > 0, reach, 1.0)

    angle = draws.uniform(0, 2 * math.pi, n_sets, n_points, 1)
    around = torch.cat([angle.cos(), angle.sin()], -1)
    side = draws.choice(4, n_sets, n_points, 1) * math.pi / 2
    edge = torch.cat([torch.ones_like(angle), draws.uniform(-1, 1, n_sets, n_points, 1)], -1)
    square = draws.chance(0.5, n_sets, 1, 1)
    outline = torch.where(square, turn(edge, side), around)
    width = draws.uniform(0.02, 0.1, n_sets, 1, 1)
    thickened = outline * (1 + width * draws.normal(n_sets, n_points, 1).abs())
    aspect = draws.uniform(1.15, 1.5, n_sets, 1, 2)
    flat = middle + reach * aspect * turn(thickened, draws.uniform(0, 2 * math.pi, n_sets, 1, 1))
    flat = torch.where(fence[..., None], flat, points[..., :2])
    return Drawn(torch.cat([flat, points[..., 2:]], -1), labels)
