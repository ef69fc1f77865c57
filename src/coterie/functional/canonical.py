"""A canonical frame for sets: standardised columns, principal axes, unit scale.

Clusters found in this frame do not depend on the units, the origin and the order of the columns,
nor, once the columns have a common unit, on rotations.
"""

import torch
from torch import Tensor

from coterie.functional.fusing import fusible
from coterie.functional.reduce import masked_mean

PASSES = 4
CLIP = 3.0  # standard deviations
OUTLIER = 10.0  # standard deviations: otherwise a nearly constant column would be the first axis
FARTHEST = 20.0  # deviations along the first axis
SPARE_AXES = 8  # oversampling, because the last axes converge slowly


def standardise(points: Tensor, mask: Tensor, *, passes: int = PASSES) -> Tensor:
    """Columns with mean 0 and standard deviation 1, estimated robustly.

    points (B, N, D), mask (B, N): mean and deviation are re-estimated from values clipped at CLIP
    deviations. The result is clipped at OUTLIER deviations; otherwise a nearly constant column
    would dominate the set. A constant column becomes zero.
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
    """Points (B, N, D) along their principal axes, the first with deviation 1.

    The third moment along each axis is positive, so that reflections have no effect.
    """
    centred = torch.where(mask[..., None], points - masked_mean(points, mask)[:, None], 0.0)
    count = mask.sum(1).clamp_min(1)[:, None, None]
    # Not as a matrix product, which TF32 would round to ten bits, rotating the axes.
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
    """As `onto_principal_axes`, the first n_axes only: points (B, N, D) -> (B, N, n_axes).

    By orthogonal iteration, also of static shape, because Jacobi is too slow for a large
    covariance. The last axes may mix slightly with the next few. n_axes must be even.
    """
    n_found = n_axes + SPARE_AXES
    if n_found >= points.shape[-1]:
        return onto_principal_axes(points, mask)[..., :n_axes]
    centred = torch.where(mask[..., None], points - masked_mean(points, mask)[:, None], 0.0)
    # The initial basis, the same for all sets, is a cosine basis, which is orthogonal.
    place, wave = (
        torch.arange(n, device=centred.device, dtype=centred.dtype)
        for n in (points.shape[-1], n_found)
    )
    basis = torch.cos(torch.pi / len(place) * (place[:, None] + 0.5) * wave)
    for _ in range(rounds):
        basis = _orthonormal(centred.mT @ (centred @ basis))
    return onto_principal_axes(centred @ basis, mask)[..., :n_axes]


def _orthonormal(columns: Tensor) -> Tensor:
    """An orthonormal basis (B, D, M) of the span of columns (B, D, M), by Gram-Schmidt.

    If the span has fewer dimensions, the remaining columns are zero.
    """
    basis = torch.zeros_like(columns)
    for j in range(columns.shape[-1]):
        known = basis[..., :j]
        once = columns[..., j : j + 1] - known @ (known.mT @ columns[..., j : j + 1])
        twice = once - known @ (known.mT @ once)  # the second pass removes rounding errors
        before, length = once.norm(dim=1, keepdim=True), twice.norm(dim=1, keepdim=True)
        # A column that the second pass mostly removes was rounding.
        new = (length > 0.5 * before) & (length > 1e-30)
        basis[..., j : j + 1] = torch.where(new, twice / length.clamp_min(1e-30), 0.0)
    return basis


def symmetric_eigen(matrix: Tensor, *, sweeps: int = 5) -> tuple[Tensor, Tensor]:
    """Eigenvalues (B, D), decreasing, and eigenvectors (B, D, D) in columns, by Jacobi rotations.

    Of static shape and without synchronisation, so that it can be captured in a CUDA graph, unlike
    torch.linalg.eigh. D must be even.
    """
    size = matrix.shape[-1]
    if size % 2:
        raise ValueError(f"the number of columns must be even, got {size}")
    # A round robin: column 0 stays, the others rotate, so each pair meets once per sweep.
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
    """Rotate columns 2i and 2i + 1 so that their covariance vanishes, for all i at once.

    Then permute the columns by place (D,), so that the next call rotates other pairs.
    """
    first = matrix[:, 0::2, 0::2].diagonal(dim1=1, dim2=2)  # (B, P)
    second = matrix[:, 1::2, 1::2].diagonal(dim1=1, dim2=2)
    both = matrix[:, 0::2, 1::2].diagonal(dim1=1, dim2=2)
    apart = first - second
    # At most 45 degrees: larger angles swap the columns, and the sweeps would not converge.
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
