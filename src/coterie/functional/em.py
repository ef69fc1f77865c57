"""The two steps of expectation-maximisation for mixtures of diagonal Gaussians.

AMCP appendix B.2, eq. 14-15; the steps are differentiable and take weights, so that the same
functions serve hard labels, soft memberships and masked points.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from coterie.functional.reduce import all_points_sum


class Gaussians(NamedTuple):
    """K diagonal Gaussians with mixing weights, for each of B sets (the axis B may be absent)."""

    log_weight: Tensor  # (B, K)
    mean: Tensor  # (B, K, D)
    log_scale: Tensor  # (B, K, D), log of the standard deviation


def gaussian_log_density(points: Tensor, mean: Tensor, log_scale: Tensor) -> Tensor:
    """Log-density of every point under every Gaussian: (..., N, D), (..., K, D) -> (..., N, K)."""
    z = (points[..., :, None, :] - mean[..., None, :, :]) * (-log_scale).exp()[..., None, :, :]
    return -0.5 * z.square().sum(-1) - _log_normaliser(log_scale)[..., None, :]


def joint_log_density(points: Tensor, mixture: Gaussians) -> Tensor:
    """log pi_j + log p(x_i | j): (..., N, D) -> (..., N, K); the summand of eq. 14."""
    density = gaussian_log_density(points, mixture.mean, mixture.log_scale)
    return density + mixture.log_weight[..., None, :]


def expectation(points: Tensor, mixture: Gaussians) -> tuple[Tensor, Tensor]:
    """The E-step: log responsibilities (..., N, K), log-likelihood of each point (..., N)."""
    joint = joint_log_density(points, mixture)
    log_likelihood = joint.logsumexp(-1)
    return joint - log_likelihood[..., None], log_likelihood


def expectation_by_columns(points: Tensor, mixture: Gaussians) -> tuple[Tensor, Tensor]:
    """`expectation` for one large set: (N, D) -> (N, K), (N,).

    Without an array of size (N, K, D), in a quarter of the time (65,536 points, K = 4, D = 2).
    """
    squares = points.new_zeros(len(mixture.mean), len(points))  # (K, N), for long rows
    columns = (points.T.contiguous(), mixture.mean.T, (-mixture.log_scale).exp().T)
    for x, mean, inverse_scale in zip(*columns, strict=True):
        z = (x - mean[:, None]).mul_(inverse_scale[:, None])
        squares.addcmul_(z, z)
    constant = mixture.log_weight - _log_normaliser(mixture.log_scale)
    joint = squares.mul_(-0.5).add_(constant[:, None])
    log_likelihood = joint.logsumexp(0)
    return (joint - log_likelihood).T.contiguous(), log_likelihood


def maximisation(
    points: Tensor,
    responsibilities: Tensor,
    *,
    pseudo_count: float = 0.0,
    variance_floor: float = 1e-6,
) -> Gaussians:
    """The M-step: points (..., N, D), responsibilities (..., N, K) -> Gaussians.

    A masked point has responsibility zero everywhere. With a pseudo_count above zero the variances
    are those of the posterior mode under that many pseudo-observations of the pooled within-cluster
    variance, which keeps a cluster of one point from collapsing.
    """
    mass = responsibilities.sum(-2)  # (..., K)
    safe_mass = mass.clamp_min(torch.finfo(points.dtype).tiny)
    moments = responsibilities.transpose(-1, -2) @ points  # (..., K, D)
    mean = moments / safe_mass[..., None]
    deviation = points[..., :, None, :] - mean[..., None, :, :]  # (..., N, K, D)
    scatter = (responsibilities[..., None] * deviation.square()).sum(-3)
    total = safe_mass.sum(-1)[..., None, None]
    pooled = scatter.sum(-2, keepdim=True) / total
    variance = (scatter + pseudo_count * pooled) / (safe_mass[..., None] + pseudo_count)
    return Gaussians(
        log_weight=(safe_mass / safe_mass.sum(-1, keepdim=True)).log(),
        mean=mean,
        log_scale=0.5 * (variance + variance_floor).log(),
    )


def map_moments(
    points: Tensor, weight: Tensor, prior_mean: Tensor, prior_scale: float
) -> tuple[Tensor, Tensor]:
    """Mean and scale of one weighted cluster, regularised by one pseudo-observation.

    It shrinks the mean towards the previous one and the scale towards prior_scale.
    points (..., N, D), weight (..., N), prior_mean (..., D) -> mean (..., D), deviation (..., D).
    """
    mass = all_points_sum(weight.sum(-1, keepdim=True)) + 1.0
    weight = weight[..., None]
    mean = (all_points_sum((weight * points).sum(-2)) + prior_mean) / mass
    squares = (weight * (points - mean[..., None, :]).square()).sum(-2)
    scatter = all_points_sum(squares) + prior_scale**2
    return mean, (scatter / mass).sqrt()


def _log_normaliser(log_scale: Tensor) -> Tensor:
    """Log of the normalising constant of a Gaussian: (..., D) -> (...)."""
    return log_scale.sum(-1) + 0.5 * log_scale.shape[-1] * math.log(2 * math.pi)
