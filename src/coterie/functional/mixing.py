"""Intra-cluster mixing: one EM step between points and reference vectors (AMCP, appendix B.2-B.3).

Three E-steps: `regular`, in which each point is distributed over the references; `ot`, optimal
transport with uniform marginals on both sides; `column`, the one-sided constraint of eq. 22-25, in
which each reference is distributed over the points: the inner attention of ISAB.
"""

from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from coterie.functional.reduce import (
    all_points_sum,
    count_points,
    is_sharded,
    masked_softmax,
)
from coterie.functional.sinkhorn import sinkhorn

EStep = Literal["regular", "ot", "column"]
E_STEPS: tuple[EStep, ...] = get_args(EStep)


def kernel_scores(keys: Tensor, references: Tensor, temperature: Tensor) -> Tensor:
    """The scaled kernel between points and references, without terms of the point alone.

    keys (..., N, C), references (..., R, C), temperature (..., 1, 1) -> (..., N, R). Eq. 16's
    -|x - phi|^2 / 2 without -|x|^2 / 2, to which the softmax of a point is invariant. Over the
    points, in the `column` step, -|phi|^2 / 2 is constant per reference, and the kernel is the
    linear one of eq. 22-25.
    """
    inner = keys @ references.transpose(-1, -2)
    centred = inner - 0.5 * references.square().sum(-1)[..., None, :]
    return centred * temperature


def mixing_weights(
    scores: Tensor,
    mask: Tensor,
    e_step: EStep,
    *,
    log_mass: Tensor | None = None,
    sinkhorn_iterations: int = 10,
) -> Tensor:
    """The E-step: scores (..., N, R), mask (..., N) -> (..., N, R), zero for masked points.

    `regular` and `ot` give every valid point mass 1, `column` every reference. log_mass (..., R) is
    the share of each reference, uniform by default: its prior weight in the `regular` step, its
    marginal in the `ot` step; the `column` step ignores it.
    """
    valid = mask[..., None]
    if e_step == "regular":
        if log_mass is not None:
            scores = scores + log_mass[..., None, :]
        return torch.where(valid, scores.softmax(-1), 0.0)
    if e_step == "ot":
        n_points = count_points(mask).clamp_min(1).to(scores.dtype)[..., None, None]
        plan = sinkhorn(
            scores, mask=mask, log_reference_mass=log_mass, iterations=sinkhorn_iterations
        )
        return plan.exp() * n_points
    if e_step == "column":
        return masked_softmax(scores, valid, -2)
    raise ValueError(f"unknown e_step {e_step!r}; known: {', '.join(E_STEPS)}")


def mixed_sum(weights: Tensor, values: Tensor) -> Tensor:
    """Weighted sums of the values, one per reference: (..., N, R), (..., N, C) -> (..., R, C)."""
    return all_points_sum(weights.transpose(-1, -2) @ values)


def column_sum(references: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """The `column` step and its weighted sums, in one product.

    references (B, H, R, C) already scaled by the temperature, keys and values (B, H, N, C),
    mask (B, N) -> (B, H, R, C): `mixed_sum` of `mixing_weights` of `kernel_scores`, whose
    -|phi|^2 / 2 cancels in a softmax over the points. For a set without valid points the result is
    finite but undefined.
    """
    if is_sharded():
        scores = keys @ references.transpose(-1, -2)
        return mixed_sum(masked_softmax(scores, mask[:, None, :, None], -2), values)
    if mask.device.type == "cpu" and not torch.compiler.is_exporting() and bool(mask.all()):
        # Attention without a mask is faster; on a GPU the check would synchronise, and an
        # exported graph cannot branch on it.
        return scaled_dot_product_attention(references, keys, values, scale=1.0)
    mask = mask | ~mask.any(1, keepdim=True)
    mask = mask[:, None, None, :].expand(-1, 1, references.shape[2], -1)
    return scaled_dot_product_attention(references, keys, values, attn_mask=mask, scale=1.0)


def mixing_means(
    keys: Tensor, weights: Tensor, prior_mean: Tensor, prior_share: Tensor, n_points: Tensor
) -> Tensor:
    """The M-step: each reference becomes the weighted mean of the keys.

    keys (..., N, C), weights (..., N, R), prior_mean (..., R, C), prior_share (..., R, 1) in points
    per valid point, n_points (..., 1, 1) -> (..., R, C). The prior keeps a reference without
    points where it is.
    """
    total = mixed_sum(weights, keys) / n_points
    mass = all_points_sum(weights.sum(-2))[..., None] / n_points
    return (prior_share * prior_mean + total) / (prior_share + mass)
