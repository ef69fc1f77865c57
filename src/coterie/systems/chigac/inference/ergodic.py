"""Ergodic amortized inference (EAI; section 3.4, Algorithm 1)."""

import math

import torch

from coterie.systems.chigac.bound import Bound
from coterie.systems.chigac.inference.protocol import Inner, Objectives, climb, towards
from coterie.systems.chigac.posterior import Gaussian


def ergodic(bound: Bound, first: Gaussian, inner: Inner) -> Objectives:
    """The model climbs log mean_m w_m over the whole inner trajectory; the encoder log w_0.

    Each w_m is an unbiased estimate of the likelihood, so the logarithm of their mean is a lower
    bound, by Jensen's inequality also one above the mean of the bounds of the trajectory.
    """
    path = climb(bound, first, inner)
    means, log_scales = (torch.stack(parts, 2) for parts in zip(*path.posteriors, strict=True))
    noise = torch.stack(path.noises, 2)  # (B, A, M + 1, Z)
    weights = bound.log_weights(Gaussian(means, log_scales), noise)
    average = weights.logsumexp(2) - math.log(weights.shape[2])
    return Objectives(average, towards(first, path.first))
