"""Splits: where one Gaussian stands for two clusters.

A network that claims two neighbours at once leaves a component that is no Gaussian. Each component
is cut in two along every axis, the halves are settled by EM among the component's own points, and
the best cut says what a second component would gain there.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from coterie.inference.mixture import Array, Fit, Mixture


class Splits(NamedTuple):
    """The best cut of each of K components: its gain in log-likelihood (K,), and the two halves.

    halves: log_weight (K, 2), of the whole mixture; mean and log_scale (K, 2, D).
    """

    gain: Array
    halves: Mixture


def best_splits(columns: Array, fit: Fit, *, em_steps: int = 10) -> Splits:
    """Try to cut every component of a mixture of one set: points (D, N)."""
    mixture = fit.mixture
    k, d = mixture.mean.shape
    features, mask = _own_features(columns, fit)  # (K, F, M), (K, M)
    by_point = features.transpose(0, 2, 1)
    total = features.sum(2)[:, None]  # (K, 1, F)

    # In units of the component: two halves on either side of its mean, for every axis.
    axes = np.eye(d)
    mean = np.broadcast_to(0.8 * np.stack([axes, -axes], 1), (k, d, 2, d))  # (K, axis, half, D)
    variance = np.broadcast_to((1 - 0.6 * axes)[:, None], mean.shape)
    log_weight = np.full((k, d, 2), np.log(0.5))
    for _ in range(em_steps):
        # The log-odds of the halves are linear in (1, z, z^2), and so are the sums of the M-step.
        joint = _coefficients(log_weight, mean, variance)  # (K, axis, half, F)
        odds = (joint[:, :, 0] - joint[:, :, 1]) @ features  # (K, axis, M)
        # Padding has no features, so it adds nothing whatever its odds.
        first = expit(odds, out=odds) @ by_point  # (K, axis, F)
        moments = np.stack([first, total - first], 2)  # (K, axis, half, F)
        mass = np.maximum(moments[..., :1], 1e-6)
        mean = moments[..., 1 : 1 + d] / mass
        variance = np.maximum(moments[..., 1 + d :] / mass - mean * mean, 0)
        variance = (mass * variance + 1) / (mass + 1)  # one imaginary point
        log_weight = np.log(mass / mass.sum(2, keepdims=True))[..., 0]

    joint = _coefficients(log_weight, mean, variance)
    first, second = (joint[:, :, half] @ features for half in range(2))  # (K, axis, M)
    before = -0.5 * features[:, 1 + d :].sum(1)[:, None]
    gain = ((np.logaddexp(first, second) - before) * mask[:, None]).sum(2)  # (K, axis)
    best = np.arange(k), gain.argmax(1)
    halves = Mixture(
        mixture.log_weight[:, None] + log_weight[best],
        mixture.mean[:, None] + mean[best] * np.exp(mixture.log_scale)[:, None],
        mixture.log_scale[:, None] + 0.5 * np.log(variance[best]),
    )
    return Splits(gain[best], halves)


def _own_features(columns: Array, fit: Fit) -> tuple[Array, NDArray[np.bool_]]:
    """(1, z, z^2) of each component's own points, in its units: (K, 1 + 2D, M), mask (K, M)."""
    labels = fit.responsibilities.argmax(0)
    k, d = fit.mixture.mean.shape
    sizes = np.bincount(labels, minlength=k)
    mask = np.arange(sizes.max()) < sizes[:, None]
    features = np.zeros((k, 1 + 2 * d, mask.shape[1]))
    for number, (mean, log_scale) in enumerate(zip(*fit.mixture[1:], strict=True)):
        own = features[number, :, : sizes[number]]
        own[0] = 1
        own[1 : 1 + d] = columns[:, labels == number] - mean[:, None]
        own[1 : 1 + d] *= np.exp(-log_scale)[:, None]
        np.square(own[1 : 1 + d], out=own[1 + d :])
    return features, mask


def _coefficients(log_weight: Array, mean: Array, variance: Array) -> Array:
    """log pi + log N(z) as a linear form in (1, z, z^2), less log(2 pi): (..., D) -> (..., F)."""
    slope = mean / variance
    constant = log_weight - 0.5 * (mean * slope + np.log(variance)).sum(-1)
    return np.concatenate([constant[..., None], slope, -0.5 / variance], -1)
