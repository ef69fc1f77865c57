"""Prim's algorithm on a GPU, with one program per set and no synchronisation between visits."""

import torch
import triton
import triton.language as tl
from torch import Tensor


def visit_on_gpu(points: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """As `coterie.kernels.visit.visit`."""
    n_sets, n_points, columns = points.shape
    order = torch.empty(n_sets, n_points, dtype=torch.int64, device=points.device)
    heights = torch.zeros_like(points[..., 0])
    by_column = points.transpose(1, 2).contiguous()
    # Valid points first, so that a program needs only their number.
    place = torch.argsort(~mask, dim=1, stable=True)
    by_column = by_column.gather(2, place[:, None].expand_as(by_column))
    _visit[(n_sets,)](
        by_column,
        mask.sum(1, dtype=torch.int32),
        order,
        heights,
        n_points,
        COLUMNS=columns,
        BLOCK=triton.next_power_of_2(n_points),
        num_warps=8,
    )
    return place.gather(1, order), heights.sqrt()


@triton.jit
def _visit(points, counts, order, heights, n_points, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    number = tl.program_id(0).to(tl.int64)
    points += number * COLUMNS * n_points
    order += number * n_points
    heights += number * n_points
    count = tl.load(counts + number)
    place = tl.arange(0, BLOCK)
    inside = place < n_points
    tl.store(order + place, place, mask=inside & (place >= count))
    left = place < count
    nearest = tl.full((BLOCK,), float("inf"), points.dtype.element_ty)
    latest = tl.zeros((), tl.int32)
    height = tl.zeros((), points.dtype.element_ty)
    for turn in range(count):
        tl.store(order + turn, latest.to(tl.int64))
        tl.store(heights + turn, height)
        left = left & (place != latest)
        square = tl.zeros((BLOCK,), points.dtype.element_ty)
        for column in tl.static_range(COLUMNS):
            here = tl.load(points + column * n_points + latest)
            apart = tl.load(points + column * n_points + place, mask=inside, other=0.0) - here
            square += apart * apart
        nearest = tl.minimum(nearest, square)
        height, latest = tl.min(tl.where(left, nearest, float("inf")), axis=0, return_indices=True)
