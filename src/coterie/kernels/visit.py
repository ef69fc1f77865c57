"""Prim's algorithm: visit the points of a set, each time the one nearest to those visited.

Visits are sequential, so matrix operations do not help: one set after another on a CPU, one
program per set on a GPU.

Shapes: B sets of N points in D columns.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# Not by `torch.library.custom_op`: its operators import torch's compiler and sympy at their first
# call, 800 modules and as much time as torch itself.
_LIBRARY = torch.library.Library("coterie", "DEF")
_LIBRARY.define("visit(Tensor points, Tensor mask) -> (Tensor, Tensor)")


def visit(points: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The point visited at each turn, and its height: (B, N, D), (B, N) -> (B, N), (B, N).

    Padding comes last. Its heights, and those of first visits, are zero. There is no gradient.
    """
    order, heights = torch.ops.coterie.visit(points, mask)
    return order, heights


@torch.library.impl(_LIBRARY, "visit", "CPU")
def _(points: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    order, heights = zip(
        *(
            _visit_one(each, there)
            for each, there in zip(points.detach().numpy(), mask.numpy(), strict=True)
        ),
        strict=True,
    )
    return torch.from_numpy(np.stack(order)), torch.from_numpy(np.stack(heights))


@torch.library.impl(_LIBRARY, "visit", "CUDA")
def _(points: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    from coterie.kernels.visit_cuda import visit_on_gpu

    return visit_on_gpu(points, mask)


@torch.library.impl(_LIBRARY, "visit", "Meta")  # `register_fake` is slower: it searches all modules
def _(points: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(mask, dtype=torch.int64), torch.empty_like(points[..., 0])


def _visit_one(points: NDArray, there: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray]:
    """For one set: points (N, D), there (N,) -> (N,), (N,)."""
    among = np.flatnonzero(there)
    order = np.concatenate([among, np.flatnonzero(~there)])
    heights = np.zeros(len(points), dtype=points.dtype)
    if not len(among):
        return order, heights
    columns = np.ascontiguousarray(points[among][:, points.any(0)].T)  # (D, n)
    nearest = np.full(len(among), np.inf, dtype=points.dtype)
    visited = np.zeros_like(nearest)
    turns = np.zeros(len(among), dtype=np.int64)
    latest = turns[0]
    for turn in range(1, len(among)):
        visited[latest] = np.inf
        apart = columns - columns[:, latest, None]
        np.minimum(nearest, np.einsum("dn,dn->n", apart, apart), out=nearest)
        left = nearest + visited
        latest = turns[turn] = left.argmin()
        heights[turn] = left[latest]
    order[: len(among)] = among[turns]
    return order, np.sqrt(heights)
