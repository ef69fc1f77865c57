"""Splits: where one Gaussian stands for two clusters.

A network that claims two neighbours at once leaves a component that is no Gaussian. Each component
is cut in two along every axis, the halves are settled by EM among the component's own points, and
the best cut says what a second component would gain there.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from coterie.functional.em import Gaussians, expectation


class Splits(NamedTuple):
    """The best cut of each of K components: its gain in log-likelihood (K,), and the two halves.

    halves: log_weight (K, 2), of the whole mixture; mean and log_scale (K, 2, D).
    """

    gain: Tensor
    halves: Gaussians


def best_splits(points: Tensor, mixture: Gaussians, *, em_steps: int = 10) -> Splits:
    """Try to cut every component of a mixture of one set: points (N, D)."""
    k, columns = mixture.mean.shape
    labels = expectation(points, mixture)[0].argmax(1)
    features, mask = _own_features(points, labels, mixture)  # (K, M, F)
    total = features.sum(1, keepdim=True)  # (K, 1, F)

    # In units of the component: two halves on either side of its mean, for every axis.
    axes = torch.eye(columns).to(points)
    mean = 0.8 * torch.stack([axes, -axes], 1).expand(k, -1, -1, -1)  # (K, axis, half, D)
    variance = (1 - 0.6 * axes)[:, None].expand_as(mean)
    log_weight = points.new_full((k, columns, 2), 0.5).log()
    for _ in range(em_steps):
        # The log-odds of the halves are linear in (1, z, z^2), and so are the sums of the M-step.
        joint = _coefficients(log_weight, mean, variance)  # (K, axis, half, F)
        odds = features @ (joint[:, :, 0] - joint[:, :, 1]).transpose(1, 2)  # (K, M, axis)
        # Padding has no features, so it adds nothing whatever its odds.
        first = odds.sigmoid().transpose(1, 2) @ features  # (K, axis, F)
        moments = torch.stack([first, total - first], 2)  # (K, axis, half, F)
        mass = moments[..., :1].clamp_min(1e-6)
        mean = moments[..., 1 : 1 + columns] / mass
        variance = moments[..., 1 + columns :] / mass - mean.square()
        variance = (mass * variance.clamp_min(0) + 1) / (mass + 1)  # one imaginary point
        log_weight = (mass / mass.sum(2, keepdim=True))[..., 0].log()

    joint = _coefficients(log_weight, mean, variance)
    first, second = (features @ joint[:, :, half].transpose(1, 2) for half in range(2))
    before = -0.5 * features[..., 1 + columns :].sum(-1, keepdim=True)
    gain = ((torch.logaddexp(first, second) - before) * mask[..., None]).sum(1)  # (K, axis)
    best = torch.arange(k, device=points.device), gain.argmax(1)
    halves = Gaussians(
        mixture.log_weight[:, None] + log_weight[best],
        mixture.mean[:, None] + mean[best] * mixture.log_scale.exp()[:, None],
        mixture.log_scale[:, None] + 0.5 * variance[best].log(),
    )
    return Splits(gain[best], halves)


def _own_features(points: Tensor, labels: Tensor, mixture: Gaussians) -> tuple[Tensor, Tensor]:
    """(1, z, z^2) of each component's own points, in its units: (K, M, 1 + 2D), mask (K, M)."""
    k = len(mixture.log_weight)
    sizes = torch.bincount(labels, minlength=k)
    order = labels.argsort(stable=True)
    place = torch.arange(len(points), device=points.device)
    place = place - (sizes.cumsum(0) - sizes)[labels[order]]
    index = order.new_zeros(k, int(sizes.max()))
    index[labels[order], place] = order
    mask = torch.arange(index.shape[1], device=points.device) < sizes[:, None]
    z = (points[index] - mixture.mean[:, None]) * (-mixture.log_scale).exp()[:, None]
    features = pad(torch.cat([z, z.square()], -1), (1, 0), value=1.0)
    return features * mask[..., None], mask.to(points)


def _coefficients(log_weight: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    """log pi + log N(z) as a linear form in (1, z, z^2), less log(2 pi): (..., D) -> (..., F)."""
    constant = log_weight - 0.5 * (mean.square() / variance + variance.log()).sum(-1)
    return torch.cat([constant[..., None], mean / variance, -0.5 / variance], -1)
