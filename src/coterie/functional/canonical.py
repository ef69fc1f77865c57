"""Sets in a frame of their own: unit columns, principal axes, unit size.

A network that reads sets in this frame gives the same clusters whatever the units, the origin, the
order and (once columns have one unit) the directions of the columns are.
"""

import torch
from torch import Tensor

from coterie.functional.fusing import fusible
from coterie.functional.reduce import masked_mean

CLIP = 3.0
OUTLIER = 10.0
FARTHEST = 20.0
SPARE_AXES = 8  # more than wanted: the last ones take long to be found


def standardise(points: Tensor, mask: Tensor, *, passes: int = 4) -> Tensor:
    """Columns with mean 0 and standard deviation 1, whatever a few outliers say.

    points (B, N, D), mask (B, N): mean and deviation are taken again from values clipped at CLIP
    deviations. The values are clipped at OUTLIER of these: a column that is nearly always the same
    would else be all that is left of the set. A constant column becomes zero.
    """
    mean = masked_mean(points, mask)[:, None]
    scale = _deviation(points, mean, mask)
    for _ in range(passes):
        clipped = torch.maximum(torch.minimum(points, mean + CLIP * scale), mean - CLIP * scale)
        mean = masked_mean(clipped, mask)[:, None]
        scale = _deviation(clipped, mean, mask)
    flat = scale <= 1e-6 * mean.abs() + 1e-30
    unit = torch.where(flat, 0.0, (points - mean) / torch.where(flat, 1.0, scale))
    return torch.where(mask[..., None], unit.clamp(-OUTLIER, OUTLIER), 0.0)


def onto_principal_axes(points: Tensor, mask: Tensor) -> Tensor:
    """Points (B, N, D) along their principal axes, the widest first with deviation 1.

    The third moment along each axis is positive, so that a mirrored set is the same set.
    """
    centred = torch.where(mask[..., None], points - masked_mean(points, mask)[:, None], 0.0)
    count = mask.sum(1).clamp_min(1)[:, None, None]
    # A product of its own: matrix units that round to ten bits would turn the axes.
    covariance = torch.stack(
        [(centred * centred[..., j : j + 1]).sum(1) for j in range(points.shape[-1])], 1
    )
    variance, axes = symmetric_eigen(covariance / count)
    turned = (centred[..., None] * axes[:, None]).sum(2)  # (B, N, D)
    skew = masked_mean(turned.pow(3), mask)[:, None]
    turned = torch.where(skew < 0, -turned, turned)
    widest = variance[:, None, :1].clamp_min(1e-12).sqrt()
    return (turned / widest).clamp(-FARTHEST, FARTHEST)


def onto_first_axes(points: Tensor, mask: Tensor, n_axes: int, *, rounds: int = 8) -> Tensor:
    """As `onto_principal_axes`, the first n_axes of many: points (B, N, D) -> (B, N, n_axes).

    By orthogonal iteration, again of static shape: so wide a covariance is too much for Jacobi. The
    last axes may lie a little off, within the space of the next few. n_axes must be even.
    """
    n_found = n_axes + SPARE_AXES
    if n_found >= points.shape[-1]:
        return onto_principal_axes(points, mask)[..., :n_axes]
    centred = torch.where(mask[..., None], points - masked_mean(points, mask)[:, None], 0.0)
    # To begin with, waves of falling length: the same for all sets, and orthogonal.
    place, wave = (torch.arange(n).to(centred) for n in (points.shape[-1], n_found))
    basis = torch.cos(torch.pi / len(place) * (place[:, None] + 0.5) * wave)
    for _ in range(rounds):
        basis = _orthonormal(centred.mT @ (centred @ basis))
    return onto_principal_axes(centred @ basis, mask)[..., :n_axes]


def _orthonormal(columns: Tensor) -> Tensor:
    """An orthonormal basis (B, D, M) of the space of columns (B, D, M), by Gram and Schmidt."""
    basis = torch.zeros_like(columns)
    for j in range(columns.shape[-1]):
        column = columns[..., j : j + 1]
        for _ in range(2):  # what round-off left of the others goes the second time
            column = column - basis[..., :j] @ (basis[..., :j].mT @ column)
        basis[..., j : j + 1] = column / column.norm(dim=1, keepdim=True).clamp_min(1e-30)
    return basis


def symmetric_eigen(matrix: Tensor, *, sweeps: int = 5) -> tuple[Tensor, Tensor]:
    """Eigenvalues (B, D), falling, and eigenvectors (B, D, D) in columns, by Jacobi's rotations.

    Of static shape and without a word to the host, so that it can be recorded in a CUDA graph;
    torch.linalg.eigh cannot. D must be even.
    """
    size = matrix.shape[-1]
    if size % 2:
        raise ValueError(f"the number of columns must be even, got {size}")
    # A round robin: column 0 keeps its seat, the others move on, so each pair meets once a sweep.
    seats = torch.arange(size, device=matrix.device)
    circle = torch.cat([seats[2::2], seats[1::2].flip(0)])
    place = seats.clone()
    place[circle] = circle.roll(1)
    vectors = torch.eye(size, dtype=matrix.dtype, device=matrix.device).expand_as(matrix)
    for _ in range(sweeps * (size - 1)):
        matrix, vectors = _rotate_pairs(matrix, vectors, place)
    variance = matrix.diagonal(dim1=1, dim2=2)
    order = variance.argsort(dim=1, descending=True, stable=True)
    return variance.gather(1, order), vectors.gather(2, order[:, None].expand_as(vectors))


@fusible
def _rotate_pairs(matrix: Tensor, vectors: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
    """Rotate columns 2i and 2i + 1 so that they no longer covary, for all i at once.

    Then the columns change their places (D,): the next call rotates other pairs.
    """
    first = matrix[:, 0::2, 0::2].diagonal(dim1=1, dim2=2)  # (B, P)
    second = matrix[:, 1::2, 1::2].diagonal(dim1=1, dim2=2)
    both = matrix[:, 0::2, 1::2].diagonal(dim1=1, dim2=2)
    apart = first - second
    # At most an eighth of a turn: larger ones exchange the columns, and the sweeps would circle.
    angle = 0.5 * torch.atan2(2 * both * torch.where(apart < 0, -1.0, 1.0), apart.abs())
    angle = angle[:, None]  # (B, 1, P)
    cos, sin = angle.cos(), angle.sin()

    def rotate_columns(rows: Tensor) -> Tensor:
        x, y = rows[..., 0::2], rows[..., 1::2]
        return torch.stack([cos * x + sin * y, cos * y - sin * x], -1).flatten(-2)

    matrix = rotate_columns(rotate_columns(matrix).transpose(1, 2))
    return matrix[:, place][:, :, place], rotate_columns(vectors)[:, :, place]


def _deviation(points: Tensor, mean: Tensor, mask: Tensor) -> Tensor:
    return masked_mean((points - mean).square(), mask)[:, None].sqrt()
