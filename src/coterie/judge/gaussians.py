"""Moments and log-densities of many Gaussians as two matrix products.

Both are linear in the terms 1, x and x x': sums over rows give the moments of all clusters of all
partitions at once, and a linear form of the terms gives each cluster's log-density.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PRIOR_ROWS = 2.0
PRIOR_VARIANCE = 0.1  # of the overall variance


class Moments(NamedTuple):
    """Of S clusters: mass (S,), mean (S, d), covariance (S, d, d) with a little of the overall."""

    mass: Array
    mean: Array
    covariance: Array


def quadratic_terms(points: Array) -> Array:
    """1, x and all products of two columns: (n, d) -> (n, 1 + d + d d)."""
    n_rows, d = points.shape
    products = (points[:, :, None] * points[:, None]).reshape(n_rows, d * d)
    return np.concatenate([np.ones((n_rows, 1)), points, products], 1)


def moments_of(share: NDArray, terms: Array, d: int) -> Moments:
    """The moments of clusters that have a share (n, S) of the rows with these terms (n, F)."""
    sums = share.T.astype(np.float64, copy=False) @ terms
    mass = sums[:, 0]
    mean = sums[:, 1 : 1 + d] / np.maximum(mass, 1e-9)[:, None]
    scatter = sums[:, 1 + d :].reshape(-1, d, d)
    scatter = scatter - mass[:, None, None] * mean[:, :, None] * mean[:, None]
    overall = np.diag(np.maximum(terms[:, 1 + d :: d + 1].mean(0), 1e-9))
    prior = PRIOR_ROWS * PRIOR_VARIANCE * overall
    covariance = (scatter + prior) / (mass + PRIOR_ROWS)[:, None, None]
    return Moments(mass, mean, covariance + 1e-6 * np.eye(d))


def weighted_forms(moments: Moments, covariance: Array, n_rows: int) -> Array:
    """Log of weight times density, less d / 2 log(2 pi), as a form in the terms: (S, F)."""
    d = moments.mean.shape[1]
    precision = np.linalg.inv(covariance)
    log_det = np.linalg.slogdet(covariance)[1]
    slope = np.einsum("sij,sj->si", precision, moments.mean)
    constant = -0.5 * ((slope * moments.mean).sum(1) + log_det)
    constant = constant + np.log(np.maximum(moments.mass, 1e-3) / n_rows)
    return np.concatenate([constant[:, None], slope, -0.5 * precision.reshape(-1, d * d)], 1)
