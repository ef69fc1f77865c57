"""EM for the mixture of one set, in NumPy.

Consolidation consists of many small float64 steps. At a thousand points torch spends most of such
a step on call and thread overhead, and NumPy takes a third of the time. `functional/em.py` has the
same two steps for batches, devices and gradients, and is the oracle in the tests.

Shapes: N points in D columns, K components; points are stored by column, (D, N).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PSEUDO_COUNT = 1.0
VARIANCE_FLOOR = 1e-6
TINY = np.finfo(np.float64).tiny


class Mixture(NamedTuple):
    """K diagonal Gaussians with mixing weights: (K,), (K, D), (K, D)."""

    log_weight: Array
    mean: Array
    log_scale: Array

    @property
    def n_clusters(self) -> int:
        """K."""
        return len(self.log_weight)

    def take(self, components: list[int] | NDArray[np.intp]) -> "Mixture":
        """Some of the components, with unchanged weights."""
        return Mixture(*(part[components] for part in self))


class Fit(NamedTuple):
    """A mixture with the result of its E-step."""

    mixture: Mixture
    responsibilities: Array  # (K, N)
    log_likelihood: Array  # (N,)

    @property
    def total(self) -> float:
        """The log-likelihood of all points."""
        return float(self.log_likelihood.sum())


def log_density(columns: Array, mean: Array, log_scale: Array) -> Array:
    """Log-density of every point under every Gaussian: (D, N), (K, D) -> (K, N)."""
    squares = np.zeros((len(mean), columns.shape[1]))
    inverse_scale = np.exp(-log_scale)
    for number, values in enumerate(columns):
        z = values - mean[:, number, None]
        z *= inverse_scale[:, number, None]
        z *= z
        squares += z
    constant = log_scale.sum(1) + 0.5 * len(columns) * math.log(2 * math.pi)
    squares *= -0.5
    squares -= constant[:, None]
    return squares


def explain(columns: Array, mixture: Mixture) -> Fit:
    """The E-step for points (D, N)."""
    joint = log_density(columns, mixture.mean, mixture.log_scale)
    joint += mixture.log_weight[:, None]
    largest = joint.max(0)
    joint -= largest
    share = np.exp(joint, out=joint)
    total = share.sum(0)
    share /= total
    return Fit(mixture, share, largest + np.log(total))


def estimate(columns: Array, responsibilities: Array) -> Mixture:
    """The M-step: points (D, N), responsibilities (K, N), which may be zero for a point.

    Variances include PSEUDO_COUNT pseudo-observations of the pooled within-cluster variance,
    which keeps a cluster of one point from collapsing.
    """
    mass = np.maximum(responsibilities.sum(1), TINY)  # (K,)
    mean = responsibilities @ columns.T / mass[:, None]
    scatter = scatter_about(columns, responsibilities, mean)
    pooled = scatter.sum(0) / mass.sum()
    variance = (scatter + PSEUDO_COUNT * pooled) / (mass[:, None] + PSEUDO_COUNT)
    return Mixture(np.log(mass / mass.sum()), mean, 0.5 * np.log(variance + VARIANCE_FLOOR))


def scatter_about(columns: Array, responsibilities: Array, mean: Array) -> Array:
    """Weighted sums of squared deviations of points (D, N) from each mean (K, D): (K, D)."""
    scatter = np.empty_like(mean)
    for number, values in enumerate(columns):
        deviation = values - mean[:, number, None]
        deviation *= deviation
        scatter[:, number] = np.einsum("kn,kn->k", responsibilities, deviation)
    return scatter


def improve(columns: Array, fit: Fit, steps: int) -> Fit:
    """A few EM steps on points (D, N)."""
    for _ in range(steps):
        fit = explain(columns, estimate(columns, fit.responsibilities))
    return fit


def settle(columns: Array, fit: Fit, tolerance: float = 1e-5, limit: int = 50) -> Fit:
    """EM until the mean log-likelihood of the points (D, N) gains less than tolerance per step.

    Because of the pseudo-observations the last step may decrease it; it is then discarded.
    """
    for _ in range(limit):
        before, fit = fit, improve(columns, fit, 1)
        gain = float(fit.log_likelihood.mean() - before.log_likelihood.mean())
        if gain < tolerance:
            return fit if gain > 0 else before
    return fit
