"""Single linkage: the minimax gap between points, the widest step on the best path.

Prim's algorithm visits the points of a set, each time the one nearest to those visited, and
records the distance, the height of the visit. The gap between two points is the largest height
after the earlier visit and up to the later, so an order and N heights encode single linkage.

Shapes: B sets of N points in D columns, L of them landmarks.
"""

import torch
from torch import Tensor

from coterie.kernels.visit import visit


def gaps_to(points: Tensor, mask: Tensor, landmarks: Tensor) -> Tensor:
    """Gaps from every point to the landmarks, in units of the set's median height: (B, N, L).

    points (B, N, D), mask (B, N), landmarks (B, L): their indices. Gaps of padded points are
    undefined.
    """
    order, heights = visit(points, mask)
    turn = order.argsort(1)  # (B, N), the turn of each point
    start = turn.gather(1, landmarks)[..., None]  # (B, L, 1)
    when = torch.arange(points.shape[1], device=points.device)
    onwards = torch.where(when > start, heights[:, None], 0.0).cummax(2).values  # (B, L, N)
    # Backwards, a height belongs to the step between a visit and the one before.
    before = torch.nn.functional.pad(heights[:, 1:], (0, 1))[:, None]
    back = torch.where(when < start, before, 0.0).flip(2).cummax(2).values.flip(2)
    gaps = torch.maximum(onwards, back) / usual_height(heights)[:, None, None]
    return gaps.gather(2, turn[:, None].expand_as(gaps)).transpose(1, 2)


def usual_height(heights: Tensor) -> Tensor:
    """The median of the heights above zero, which excludes duplicates: (B, N) -> (B,)."""
    rising = heights.sort(dim=1, stable=True).values
    zeros = (rising <= 0).sum(1, keepdim=True)
    middle = (zeros + (rising > 0).sum(1, keepdim=True) // 2).clamp_max(rising.shape[1] - 1)
    usual = rising.gather(1, middle)[:, 0]
    return torch.where(usual > 0, usual, 1.0)
