"""Mixtures with full covariances, with heavy tails, sharp peaks and skew."""

import math

import torch

from coterie.data.priors.draws import Drawn, Draws, Plan
from coterie.data.priors.mog import of_cluster
from coterie.data.priors.placing import line_up, reflect, spread_out


def blobs(plan: Plan, columns: int, used: torch.Tensor, draws: Draws) -> Drawn:
    """Elongated or round clusters, equal or unequal, from well separated to overlapping.

    used (B, 1, D) is one for the columns that a set uses.
    """
    n_sets, n_points, k_max = plan.shape
    labels = plan.labels
    noise = draws.normal(n_sets, n_points, columns)
    boxes = draws.uniform(-math.sqrt(3), math.sqrt(3), n_sets, n_points, columns)
    boxed = of_cluster(draws.uniform(0, 1, n_sets, k_max, 1), labels) < 0.15
    noise = torch.where(boxed & draws.chance(0.4, n_sets, 1, 1), boxes, noise)
    # A t distribution with 2 to 6 degrees of freedom: a normal over the root of a mean square.
    freedom = 2 + draws.choice(5, n_sets, 1, 1)
    counted = torch.arange(6, device=labels.device) < freedom
    square = draws.normal(n_sets, n_points, 6).square() * counted
    spread = (square.sum(-1, keepdim=True) / freedom).sqrt()
    heavy = draws.chance(0.25, n_sets, 1, 1)
    noise = torch.where(heavy, noise / spread.clamp_min(0.1), noise)
    # The distance from the centre is half-normal in any number of columns: the core is denser than
    # a Gaussian's, increasingly so with more columns.
    distance = (noise * used).square().sum(-1, keepdim=True).clamp_min(1e-6).sqrt()
    sharp = draws.normal(n_sets, n_points, 1).abs() * used.sum(-1, keepdim=True).sqrt()
    noise = torch.where(draws.chance(0.1, n_sets, 1, 1), noise * sharp / distance, noise)
    bend = draws.uniform(0.05, 0.6, n_sets, 1, columns)
    skewed = draws.chance(0.2, n_sets, 1, 1)
    noise = torch.where(skewed, (bend * noise.clamp(-4, 4)).expm1() / bend, noise)

    stretch = draws.chance(0.75, n_sets, 1, 1) * draws.uniform(0, 1.1, n_sets, 1, 1)
    shape = (stretch * draws.uniform(-1, 1, n_sets, k_max, columns)).exp()
    size = draws.chance(0.6, n_sets, 1, 1) * draws.uniform(0, 0.9, n_sets, 1, 1)
    size = (size * draws.normal(n_sets, k_max, 1).clamp(-2.5, 2.5)).exp()
    scale = shape * size * used
    placed = noise * of_cluster(scale, labels)
    turned = draws.chance(0.6, n_sets, 1, 1)  # otherwise the axes are the columns
    for _ in range(2):
        mirror = of_cluster(draws.normal(n_sets, k_max, columns) * used, labels)
        placed = torch.where(turned, reflect(placed, mirror), placed)

    radius = (scale.square().sum(-1) / used.sum(-1)).sqrt()  # (B, K)
    # The fewer points the clusters have, the farther apart they must be to be distinguishable.
    points_a_cluster = plan.mask.sum(1) / plan.n_clusters  # (B,)
    gap = (1.4 + 3 / points_a_cluster.sqrt()) * draws.log_uniform(1.0, 2.5, n_sets)
    loose = draws.log_uniform(0.3, 6.0, n_sets, 1, 1)  # spread beyond the required gap
    centres = loose * draws.normal(n_sets, k_max, columns) * used
    line = line_up(centres[..., 0], radius, plan.exists, gap)
    lined_up = torch.nn.functional.pad(line[..., None], (0, columns - 1))
    centres = spread_out(centres, radius, plan.exists, gap)
    centres = torch.where(used.sum(-1, keepdim=True) > 1, centres, lined_up)
    return Drawn(placed + of_cluster(centres, labels), labels)
