"""Roads: clusters are the segments between junctions, and some of the junctions."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from coterie.data.priors.draws import Drawn, Draws, Plan
from coterie.data.priors.mog import of_cluster
from coterie.data.priors.placing import in_first_columns, spread_out


class _Ends(NamedTuple):
    """The end points of each cluster's road, about one apart: (B, K, 2) each."""

    start: Tensor
    end: Tensor


def roads(plan: Plan, columns: int, used: Tensor, draws: Draws) -> Drawn:
    """Trees, stars and crossings of straight segments, touching or nearly so, in two columns."""
    n_sets, n_points, _ = plan.shape
    labels = plan.labels
    tree, spokes = _tree(plan, draws), _spokes(plan, draws)
    k, n = plan.n_clusters, plan.mask.sum(1)
    few = (10 * k * (k + 1) < n) & draws.chance(
        0.5, n_sets
    )  # more spokes would overlap in the middle
    start = torch.where(few[:, None, None], spokes.start, tree.start)
    end = torch.where(few[:, None, None], spokes.end, tree.end)
    length = (end - start).square().sum(-1, keepdim=True).sqrt()
    trim = draws.uniform(0.02, 0.25, n_sets, 1, 1)
    along = trim + (1 - 2 * trim) * draws.uniform(0, 1, n_sets, n_points, 1)
    road = draws.log_uniform(0.01, 0.06, n_sets, 1, 1)
    town = draws.uniform(0.06, 0.14, n_sets, 1, 1)  # a road of length zero
    width = torch.where(length > 0, road, torch.maximum(town, road))
    begin, way = of_cluster(start, labels), of_cluster(end - start, labels)
    jitter = of_cluster(width, labels) * draws.normal(n_sets, n_points, 2)
    return Drawn(in_first_columns(begin + along * way + jitter, columns), labels)


def _tree(plan: Plan, draws: Draws) -> _Ends:
    """Road j leads from junction j to the nearest earlier one, so that no two roads coincide.

    The first road, and sometimes a few others, have length zero.
    """
    n_sets, _, k_max = plan.shape
    number = torch.arange(k_max, device=plan.labels.device)
    place = draws.normal(n_sets, k_max, 2)
    half = torch.full_like(place[..., 0], 0.5)
    place = spread_out(place, half, plan.exists, draws.uniform(0.9, 1.3, n_sets))
    apart = (place[:, :, None] - place[:, None]).square().sum(-1)  # (B, K, K)
    nearest = torch.where(number < number[:, None], apart, torch.inf).argmin(2)
    stays = draws.chance(0.3, n_sets, k_max) & draws.chance(0.5, n_sets, 1)
    nearest = torch.where(stays | (number == 0), number, nearest)
    return _Ends(place, place.gather(1, nearest[..., None].expand(-1, -1, 2)))


def _spokes(plan: Plan, draws: Draws) -> _Ends:
    """Roads that radiate from a town, or that pass through the middle."""
    n_sets, _, k_max = plan.shape
    number = torch.arange(k_max, device=plan.labels.device)
    k = plan.n_clusters[:, None]
    through = draws.chance(0.4, n_sets, 1)
    apart = torch.where(through, math.pi / k, 2 * math.pi / (k - 1).clamp_min(1))
    angle = apart * (number + draws.uniform(-0.2, 0.2, n_sets, k_max))
    angle = angle + draws.uniform(0, 2 * math.pi, n_sets, 1)
    tip = torch.stack([angle.cos(), angle.sin()], -1)  # (B, K, 2)
    middle = 0.25 * draws.normal(n_sets, k_max, 2)
    tip = torch.where((through | (number > 0))[..., None], tip, 0.0)
    through = through[..., None]
    return _Ends(torch.where(through, middle - tip, 0.0), torch.where(through, middle + tip, tip))
