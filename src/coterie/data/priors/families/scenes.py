"""Scenes in the plane: each cluster is a thick or thin shape, beside, inside or across others."""

import math

import torch
from torch import Tensor

from coterie.data.priors.draws import Drawn, Draws, Plan
from coterie.data.priors.mog import of_cluster
from coterie.data.priors.placing import in_first_columns, spread_out, turn

N_SHAPES = 8


def scenes(plan: Plan, columns: int, used: Tensor, draws: Draws) -> Drawn:
    """Blobs, boxes, rings, arcs, lines, zigzags, worms and spirals, in the first two columns."""
    n_sets, _, k_max = plan.shape
    labels = plan.labels
    flat = _shape(plan, draws)  # within about one of the origin
    wide = draws.chance(0.5, n_sets, 1, 1) * draws.uniform(0, 0.5, n_sets, 1, 1)
    size = (wide * draws.normal(n_sets, k_max, 1).clamp(-2, 2)).exp()
    around = draws.uniform(0, 2 * math.pi, n_sets, k_max, 1)
    flat = turn(flat * of_cluster(size, labels), of_cluster(around, labels))

    gap = draws.uniform(0.65, 1.7, n_sets)
    centres = draws.log_uniform(0.2, 3.0, n_sets, 1, 1) * draws.normal(n_sets, k_max, 2)
    centres = spread_out(centres, size[..., 0], plan.exists, gap)
    beside = flat + of_cluster(centres, labels)

    nested = draws.chance(0.3, n_sets, 1, 1)
    flat = torch.where(nested & _legible(plan), _nested(plan, draws), beside)
    return Drawn(in_first_columns(flat, columns), labels)


def _shape(plan: Plan, draws: Draws) -> Tensor:
    """One shape for each cluster, of at most three kinds in a set: (B, N, 2)."""
    n_sets, n_points, k_max = plan.shape
    labels = plan.labels
    kinds = draws.choice(N_SHAPES, n_sets, 3)
    kind = kinds.gather(1, draws.choice(3, n_sets, k_max))[..., None]  # (B, K, 1)
    kind = of_cluster(kind, labels)  # (B, N, 1)

    def own(low: float, high: float) -> Tensor:
        return of_cluster(draws.uniform(low, high, n_sets, k_max, 1), labels)

    along = _along(plan, draws)
    across = of_cluster(draws.log_uniform(0.005, 0.12, n_sets, k_max, 1), labels)
    across = across * draws.normal(n_sets, n_points, 1)

    def polar(radius: Tensor, angle: Tensor) -> Tensor:
        return torch.cat([radius * angle.cos(), radius * angle.sin()], -1)

    def path(height: Tensor) -> Tensor:
        return torch.cat([2 * along - 1, height], -1)

    ripples = [
        own(-0.35, 0.35) * (2 * math.pi * (own(0.2, 0.9) * j * along + own(0, 1))).sin()
        for j in (1, 2)
    ]
    teeth = (own(1, 4) * along) % 1.0
    spin = along.sqrt()  # uniform along the curve
    shapes = [
        0.4 * draws.normal(n_sets, n_points, 2),
        draws.uniform(-0.8, 0.8, n_sets, n_points, 2) * torch.cat([own(0.2, 1), own(0.6, 1)], -1),
        polar(1 + across, 2 * math.pi * along),
        polar(1 + across, 2 * math.pi * own(0.3, 0.8) * along),
        path(across),
        path(own(0.3, 1.2) * (2 * teeth - 1).abs() + across),
        path(sum(ripples) + across),
        polar(0.15 + 0.85 * spin + 0.5 * across, 2 * math.pi * own(0.7, 2.0) * spin),
    ]
    result = shapes[0]
    for number, shape in enumerate(shapes[1:], 1):
        result = torch.where(kind == number, shape, result)
    return result


def _along(plan: Plan, draws: Draws) -> Tensor:
    """The position of each point along its curve, 0 to 1; dashed in some sets: (B, N, 1)."""
    n_sets, n_points, _ = plan.shape
    along = draws.uniform(0, 1, n_sets, n_points, 1)
    n_runs = draws.uniform(20, 60, n_sets, 1, 1).floor()  # gaps are short relative to the curve
    run = (along * n_runs).floor()
    inked = draws.uniform(0.5, 0.9, n_sets, 1, 1)
    in_runs = (run + inked * (along * n_runs - run)) / n_runs
    return torch.where(draws.chance(0.12, n_sets, 1, 1), in_runs, along)


def _legible(plan: Plan) -> Tensor:
    """Whether points on one ring per cluster are closer together than the rings."""
    k, n = plan.n_clusters, plan.mask.sum(1)
    return (10 * k * (k + 1) < n)[:, None, None]


def _nested(plan: Plan, draws: Draws) -> Tensor:
    """Concentric rings, or interlocking moons: (B, N, 2)."""
    n_sets, n_points, k_max = plan.shape
    labels = plan.labels
    number = labels.clamp_min(0)[..., None].float()  # (B, N, 1)
    along = _along(plan, draws)
    across = draws.normal(n_sets, n_points, 1)
    thin = draws.uniform(0.02, 0.2, n_sets, 1, 1) * across

    core = draws.uniform(0.0, 1.5, n_sets, 1, 1)  # the innermost ring may be a blob
    own = of_cluster(draws.log_uniform(0.01, 0.25, n_sets, k_max, 1), labels)
    unlike = draws.chance(0.5, n_sets, 1, 1)  # rings of unequal thickness
    ring = number + core + torch.where(unlike, own * across, thin)
    full = 2 * math.pi * along
    rings = torch.cat([ring * full.cos(), ring * full.sin()], -1)

    upside = 1 - 2 * (number % 2)
    moon = math.pi * along
    reach = draws.uniform(0.05, 0.4, n_sets, 1, 1)  # from 0.5 on they would cross
    stride = draws.uniform(
        1.05, 1.35, n_sets, 1, 1
    )  # at 1 the tips of every second moon would meet
    bow = 1 + 0.6 * thin
    moons = torch.cat([bow * moon.cos() + stride * number, upside * (bow * moon.sin() - reach)], -1)
    return torch.where(draws.chance(0.5, n_sets, 1, 1), rings, moons)
