"""Regions of the plane: cells, stripes, frames and grids with thin gaps or unequal densities."""

from typing import NamedTuple

import torch
from torch import Tensor

from coterie.data.priors.draws import Drawn, Draws, Plan
from coterie.data.priors.placing import bend
from coterie.data.priors.sifting import SPARE, sift


class _Cells(NamedTuple):
    """The cell of each of M candidates, and its margin."""

    label: Tensor  # (B, M)
    margin: Tensor  # (B, M), extra distance to the second nearest centre
    spacing: Tensor  # (B, 1), mean distance between neighbouring centres
    in_turn: Tensor  # (B, 1) bool, whether neighbouring cells have consecutive numbers


def regions(plan: Plan, columns: int, used: Tensor, draws: Draws) -> Drawn:
    """Uniform points divided into cells; points in the gaps between cells are left out.

    The labels are those of the cells, so the plan only gives the sizes and numbers; a cell that
    lies entirely in a gap is missing. In the first two columns.
    """
    n_sets, n_points, k_max = plan.shape
    where = draws.uniform(-1, 1, n_sets, SPARE * n_points, 2)
    # Four to five times the distance between neighbours, before gaps make the rest denser. With
    # three, boundaries cannot be told from random gaps, although 19 of 20 neighbours share a label.
    visible = 4.5 / plan.mask.sum(1, keepdim=True).clamp_min(1).sqrt()
    cells = _cut(where, visible, plan, draws)

    by_density = draws.chance(0.3, n_sets, 1) & cells.in_turn  # no gap, but unequal density
    # Removing the gaps makes the rest denser, and gaps as wide as the cells would be too wide.
    narrowest = visible * cells.spacing / (visible + cells.spacing)
    gap = torch.maximum(cells.spacing * draws.uniform(0.05, 0.35, n_sets, 1), narrowest)
    gap = torch.where(by_density, 0.0, gap)
    thinnest = torch.where(by_density, 0.08, 0.35)
    density = thinnest ** draws.uniform(0, 1, n_sets, k_max)
    dense = torch.arange(k_max, device=where.device) % 2 == 0
    density = torch.where(by_density, torch.where(dense, 1.0, thinnest), density)
    kept = draws.uniform(0, 1, *cells.label.shape) < density.gather(1, cells.label)
    kept = kept & (cells.margin > gap)
    return sift(bend(where, draws), cells.label, kept, plan, columns)


def _cut(where: Tensor, visible: Tensor, plan: Plan, draws: Draws) -> _Cells:
    """Cells around centres in the plane, or parallel or concentric bands."""
    n_sets, _, k_max = plan.shape
    k = plan.n_clusters[:, None]
    number = torch.arange(k_max, device=where.device).expand(n_sets, -1)
    order = draws.choice(3, n_sets, 1, 1)
    kind = draws.choice(4, n_sets, 1)  # 0: stripes, 1: frames, 2 and 3: cells
    level = torch.where(kind == 0, 2 * (number + 0.5) / k - 1, (number + 0.7) / k)
    height = torch.where(kind[..., None] == 0, where[..., :1], _length(where, order))
    # Bands that are too thin for their number of points are replaced by cells.
    banded = (kind < 2) & (0.6 * torch.where(kind == 0, 2, 1) / k > visible)

    seen = torch.where(banded[..., None], torch.nn.functional.pad(height, (0, 1)), where)
    middle = torch.stack([level, torch.zeros_like(level)], -1)
    middle = torch.where(banded[..., None], middle, _middles(plan, draws))  # (B, K, 2)
    apart = _length(seen[:, :, None] - middle[:, None], order[..., None])[..., 0]  # (B, M, K)
    apart = torch.where(plan.exists[:, None], apart, torch.inf)
    beyond = torch.full_like(apart[..., :1], torch.inf)  # the second nearest of a single cell
    nearest = torch.cat([apart, beyond], 2).topk(2, dim=2, largest=False)
    margin = nearest.values[..., 1] - nearest.values[..., 0]
    label = nearest.indices[..., 0]
    return _Cells(label, margin, _spacing(middle, plan.exists, order), banded | (k == 2))


def _middles(plan: Plan, draws: Draws) -> Tensor:
    """The centre of each cell, at random or on a grid: (B, K, 2)."""
    n_sets, _, k_max = plan.shape
    anywhere = draws.uniform(-1, 1, n_sets, k_max, 2)
    number = torch.arange(k_max, device=anywhere.device).expand(n_sets, -1)
    side = plan.n_clusters[:, None].float().sqrt().ceil()
    grid = torch.stack([number % side + 0.5, (number / side).floor() + 0.5], -1) / side[..., None]
    return torch.where(draws.chance(0.35, n_sets, 1, 1), 2 * grid - 1, anywhere)


def _spacing(middle: Tensor, exists: Tensor, order: Tensor) -> Tensor:
    """The mean distance from a centre to its nearest neighbour, or 0: (B, K, 2) -> (B, 1)."""
    apart = _length(middle[:, :, None] - middle[:, None], order[..., None])[..., 0]  # (B, K, K)
    itself = torch.eye(middle.shape[1], dtype=torch.bool, device=middle.device)
    apart = torch.where(itself | ~exists[:, None], torch.inf, apart).amin(2)
    known = exists & apart.isfinite()
    total = torch.where(known, apart, 0.0).sum(1, keepdim=True)
    return total / known.sum(1, keepdim=True).clamp_min(1)


def _length(vector: Tensor, order: Tensor) -> Tensor:
    """The 1-, 2- or maximum norm (order 0, 1, 2): (..., D) -> (..., 1)."""
    sides = vector.abs()
    euclid = sides.square().sum(-1, keepdim=True).clamp_min(1e-12).sqrt()
    largest = sides.amax(-1, keepdim=True)
    return torch.where(
        order == 0, sides.sum(-1, keepdim=True), torch.where(order == 1, euclid, largest)
    )
