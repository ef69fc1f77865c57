"""EM for mixtures of Gaussians with any covariance matrices, for one set, in NumPy.

The log-density of a Gaussian is linear in the products (1, x, x x^T) of a point. Once these are
computed, both steps of EM are one matrix product each, for any covariances.

Shapes: N points in D columns, K components; F = 1 + D + D (D + 1) / 2 products. Moments and
mixtures may have leading axes: several of them side by side.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LOG_TWO_PI = math.log(2 * math.pi)
LEAST_MASS = 1e-9


class FullMixture(NamedTuple):
    """K Gaussians with mixing weights: (K,), (K, D), (K, D, D)."""

    log_weight: Array
    mean: Array
    covariance: Array

    @property
    def n_clusters(self) -> int:
        """K."""
        return len(self.log_weight)

    def take(self, components: list[int] | NDArray[np.intp]) -> "FullMixture":
        """Some of the components; the weights are not renormalised."""
        return FullMixture(*(part[components] for part in self))


class Moments(NamedTuple):
    """Weighted sums over points: mass (K,), mean (K, D), scatter about the mean (K, D, D)."""

    mass: Array
    mean: Array
    scatter: Array

    def take(self, components: list[int] | NDArray[np.intp]) -> "Moments":
        """Some of the components."""
        return Moments(*(part[components] for part in self))


class Expectation(NamedTuple):
    """The result of an E-step: responsibilities (K, N), log-likelihood (N,)."""

    responsibilities: Array
    log_likelihood: Array


class Packing(NamedTuple):
    """How a symmetric matrix (D, D) and its upper entries (P,) are made from each other.

    upper (P,): the entries of the flat matrix that are kept; whole (D D,): the kept entry for each
    of the flat matrix; counted (P,): -1/2 for the diagonal, and -1 for entries that stand for two.
    """

    upper: NDArray[np.intp]
    whole: NDArray[np.intp]
    counted: Array


@cache
def upper_pairs(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The entries (a, b), a <= b, of a symmetric matrix (D, D)."""
    first, second = np.triu_indices(d)
    return first, second


@cache
def packing(d: int) -> Packing:
    """The packing of symmetric matrices (D, D), in the order of `upper_pairs`."""
    first, second = upper_pairs(d)
    place = np.empty((d, d), dtype=np.intp)
    place[first, second] = place[second, first] = np.arange(len(first))
    return Packing(first * d + second, place.ravel(), np.where(first == second, -0.5, -1.0))


def products(points: Array) -> Array:
    """The products (F, N) of points (N, D), which should be centred: 1, x_a and x_a x_b, a <= b."""
    columns = np.ascontiguousarray(points.T)
    first, second = upper_pairs(len(columns))
    rows = np.empty((1 + len(columns) + len(first), columns.shape[1]))
    rows[0] = 1
    rows[1 : 1 + len(columns)] = columns
    np.multiply(columns[first], columns[second], out=rows[1 + len(columns) :])
    return rows


def moments(rows: Array, responsibilities: Array, d: int) -> Moments:
    """The moments of each component: products (F, N), responsibilities (K, N)."""
    return moments_of_sums(responsibilities @ rows.T, d)


def moments_of_sums(sums: Array, d: int) -> Moments:
    """The moments computed from weighted sums of products (..., K, F)."""
    mass = np.maximum(sums[..., 0], LEAST_MASS)
    mean = sums[..., 1 : 1 + d] / mass[..., None]
    first, second = upper_pairs(d)
    packed = sums[..., 1 + d :] - mass[..., None] * mean.take(first, -1) * mean.take(second, -1)
    return Moments(mass, mean, packed.take(packing(d).whole, -1).reshape(*mean.shape, d))


def log_joint(rows: Array, mixture: FullMixture) -> Array:
    """log pi_j + log N(x_i; j) from products (F, N): (K, N)."""
    joint: Array = form_of(mixture) @ rows
    return joint


def form_of(mixture: FullMixture) -> Array:
    """What products are multiplied by to give the joint densities of a mixture: (..., K, F)."""
    whitening = np.linalg.inv(np.linalg.cholesky(mixture.covariance))  # lower triangular
    return quadratic_form(mixture.log_weight, mixture.mean, whitening)


def quadratic_form(log_weight: Array, mean: Array, whitening: Array) -> Array:
    """What products are multiplied by to give log pi_j + log N(x_i; j): (K, F).

    log_weight (..., K); mean (..., K, D); whitening (..., K, D, D), the inverse of each
    covariance's Cholesky factor.
    """
    *leading, d = mean.shape
    upper, _, counted = packing(d)
    precision = whitening.swapaxes(-1, -2) @ whitening
    log_det = np.log(np.diagonal(whitening, axis1=-2, axis2=-1)).sum(-1)
    slope = (precision @ mean[..., None])[..., 0]
    form = np.empty((*leading, 1 + d + len(upper)))
    form[..., 0] = log_weight + log_det - 0.5 * (slope * mean).sum(-1)
    form[..., 0] -= 0.5 * d * LOG_TWO_PI
    form[..., 1 : 1 + d] = slope
    flat = precision.reshape(*leading, d * d)
    np.multiply(flat.take(upper, -1), counted, out=form[..., 1 + d :])
    return form


def expectation(joint: Array) -> Expectation:
    """The E-step from log_joint (K, N), which is overwritten."""
    largest = joint.max(0)
    joint -= largest
    share = np.exp(joint, out=joint)
    total = share.sum(0)
    share /= total
    return Expectation(share, largest + np.log(total))
