"""The principal axes of sets of unit vectors, and the vectors on them."""

import torch
from torch import Tensor
from torch.nn.functional import normalize

LENGTH = 3.0  # of a vector on all of its axes: coordinates then are about as large as in tables
SPARE_AXES = 4  # iterated beside the ones wanted, which converge the sooner
ITERATIONS = 6


def on_axes(vectors: Tensor, axes: Tensor, *, spherical: bool = False) -> Tensor:
    """Vectors (..., N, C) of any length by their coordinates on axes (..., C, A): (..., N, A).

    spherical: whether they have one length there too, so that their angles alone remain.
    """
    points = normalize(vectors, dim=-1) @ axes
    return (normalize(points, dim=-1) if spherical else points) * LENGTH


def principal_axes(vectors: Tensor, mask: Tensor, n_axes: int) -> Tensor:
    """The axes on which the unit vectors of each set are longest, the longest first.

    vectors (B, N, C), mask (B, N) -> (B, C, A), orthonormal. The vectors are not centred: their
    angles at the origin stay what they were, and it is angles that tell images apart. Each axis
    points to where its largest entry is positive.
    """
    _, axes = torch.linalg.eigh(_second_moments(vectors, mask))  # by rising eigenvalue
    return _signed(axes.flip(-1)[..., :n_axes])


def iterated_axes(vectors: Tensor, mask: Tensor, n_axes: int) -> Tensor:
    """The same by a few orthogonal iterations: products and sums alone, which a GPU can record.

    Axes of similar length may be turned among each other.
    """
    moments = _second_moments(vectors, mask)
    width = min(n_axes + SPARE_AXES, moments.shape[-1])
    # The largest columns of the moments span about the space that is wanted.
    start = moments.square().sum(-2).topk(width, -1).indices  # (B, A)
    axes = moments.gather(2, start[:, None].expand(-1, moments.shape[1], -1))
    for _ in range(ITERATIONS):
        axes = _orthonormal(moments @ axes)
    return _signed(axes[..., :n_axes])


def _second_moments(vectors: Tensor, mask: Tensor) -> Tensor:
    """The mean outer product of the unit vectors of each set: (B, C, C)."""
    unit = normalize(vectors, dim=-1) * mask[..., None]
    return unit.transpose(1, 2) @ unit / mask.sum(1).clamp_min(1)[:, None, None]


def _orthonormal(columns: Tensor) -> Tensor:
    """Gram and Schmidt's vectors of columns (B, C, A), in their order."""
    done = columns[..., :0]
    for number in range(columns.shape[-1]):
        column = columns[..., number : number + 1]
        for _ in range(2):  # once more, for what rounding has left
            column = column - done @ (done.transpose(1, 2) @ column)
        done = torch.cat([done, normalize(column, dim=1)], -1)
    return done


def _signed(axes: Tensor) -> Tensor:
    largest = axes.gather(1, axes.abs().argmax(1, keepdim=True))  # (B, 1, A)
    return torch.where(largest < 0, -axes, axes)
