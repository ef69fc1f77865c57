"""Entropic optimal transport by Sinkhorn's algorithm, in the log domain.

AMCP appendix A.1-A.2, eq. 1-3. The only Sinkhorn implementation of this package.
"""

import torch
from torch import Tensor

from coterie.functional.reduce import all_points_logsumexp, count_points


def sinkhorn(
    scores: Tensor,
    *,
    mask: Tensor | None = None,
    log_point_mass: Tensor | None = None,
    log_reference_mass: Tensor | None = None,
    iterations: int = 10,
) -> Tensor:
    """Log transport plan between points and references for the kernel exp(scores).

    scores: (..., N, R), minus cost over epsilon; mask: (..., N), True for a valid point.
    log_point_mass: (..., N) and log_reference_mass: (..., R); each has total mass 1 and is
    uniform by default (over the valid points, over the references).
    Returns (..., N, R); masked points carry no mass (-inf). The last update is that of the
    points, so their marginal holds exactly and that of the references in the limit.
    """
    n_references = scores.shape[-1]
    if mask is None:
        mask = torch.ones(scores.shape[:-1], dtype=torch.bool, device=scores.device)
    if log_point_mass is None:
        log_point_mass = -count_points(mask)[..., None].clamp_min(1).to(scores.dtype).log()
    if log_reference_mass is None:
        log_reference_mass = -torch.full_like(scores[..., 0, :], n_references).log()

    scores = torch.where(mask[..., None], scores, 0.0)
    # A finite floor, not -inf, so that a set without points yields no NaN gradients.
    floor = torch.finfo(scores.dtype).min / 4
    point_potential = torch.zeros_like(scores[..., 0])  # log u of eq. 3, (..., N)
    reference_potential = torch.zeros_like(scores[..., 0, :])  # log v of eq. 3, (..., R)
    for _ in range(iterations):
        by_point = scores + point_potential[..., None]
        by_point = torch.where(mask[..., None], by_point, floor)
        reference_potential = log_reference_mass - all_points_logsumexp(by_point, -2)[..., 0, :]
        by_reference = scores + reference_potential[..., None, :]
        point_potential = log_point_mass - by_reference.logsumexp(-1)

    plan = scores + point_potential[..., None] + reference_potential[..., None, :]
    return torch.where(mask[..., None], plan, -torch.inf)
