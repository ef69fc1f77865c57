"""A mixture with covariances of one strength, fitted by EM and scored by its evidence.

The evidence is the variational one (Bishop, Pattern Recognition and Machine Learning, 10.2.2): with
responsibilities q it is a lower bound on the log-probability of the points, parameters integrated
out. BIC penalises every covariance in full, however similar the clusters are, and so chooses too
few clusters in many columns.

Shapes: N points in D columns, K components, F products, as in `mixtures/gaussians.py`.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from coterie.mixtures.covariances import (
    STRENGTHS,
    Base,
    Frame,
    common,
    common_covariance,
    covariances,
    evidence_by_strength,
    frame_of,
    with_reach,
)
from coterie.mixtures.gaussians import (
    Array,
    FullMixture,
    Moments,
    expectation,
    log_joint,
    moments,
    products,
)

# In nats, summed over all points: EM has converged if a step gains less.
ARRIVED = 0.05


class Cloud(NamedTuple):
    """The points of one set prepared for EM: (N, D), their products (F, N), their frame."""

    points: Array
    rows: Array
    frame: Frame


class SharedFit(NamedTuple):
    """A mixture, its responsibilities for the points, and its evidence.

    responsibilities: (K, N); log_likelihood: of all points; parts: the moments under the
    responsibilities; strength: the value in STRENGTHS with the largest evidence.
    """

    mixture: FullMixture
    responsibilities: Array
    log_likelihood: float
    parts: Moments
    base: Base
    strength: float
    evidence: float

    @property
    def n_clusters(self) -> int:
        """K."""
        return len(self.parts.mass)


def cloud_of(points: Array) -> Cloud:
    """The cloud of centred points (N, D)."""
    return Cloud(points, products(points), frame_of(points))


def members(labels: NDArray[np.integer]) -> Array:
    """Labels (N,), -1 for none, as responsibilities (K, N) of the clusters that have points."""
    clusters = np.unique(labels[labels >= 0])
    if not len(clusters):
        return np.ones((1, len(labels)))
    return (labels == clusters[:, None]).astype(np.float64)


def fit_from(cloud: Cloud, responsibilities: Array, strength: float, *, steps: int) -> SharedFit:
    """EM from responsibilities (K, N), then the choice of the strength by the evidence."""
    before = -math.inf
    for _ in range(steps):
        parts = moments(cloud.rows, responsibilities, cloud.points.shape[1])
        base = common_covariance(parts, cloud.frame)
        mixture = mixture_of(parts, base, strength, cloud.frame)
        responsibilities, log_likelihood = expectation(log_joint(cloud.rows, mixture))
        now = float(log_likelihood.sum())
        if now - before < ARRIVED:
            break
        before = now
    return weighed(cloud, responsibilities, now)


def weighed(cloud: Cloud, responsibilities: Array, log_likelihood: float) -> SharedFit:
    """The fit for responsibilities (K, N), with the strength of the largest evidence."""
    parts = moments(cloud.rows, responsibilities, cloud.points.shape[1])
    base = common(parts, cloud.frame)
    frame = with_reach(cloud.frame, parts)
    each = evidence_by_strength(parts, base.covariance, STRENGTHS, frame).sum(1)
    best = int(each.argmax())
    evidence = (
        float(each[best] - base.cost) + weight_evidence(parts.mass) + entropy(responsibilities)
    )
    mixture = mixture_of(parts, base.covariance, STRENGTHS[best], cloud.frame)
    return SharedFit(
        mixture, responsibilities, log_likelihood, parts, base, STRENGTHS[best], evidence
    )


def mixture_of(parts: Moments, base: Array, strength: float, frame: Frame) -> FullMixture:
    """The M-step: the mixture with the given moments of K components and base (..., D, D)."""
    own = covariances(parts, base, strength, frame.floor)
    weight = parts.mass / parts.mass.sum(-1, keepdims=True)
    return FullMixture(np.log(weight), parts.mean, own)


def weight_evidence(mass: Array) -> float:
    """Log-evidence of cluster sizes (K,) under weights uniform on the simplex.

    Components are exchangeable, so each partition counts K! times.
    """
    k = len(mass)
    return float(gammaln(k) - gammaln(mass.sum() + k) + gammaln(mass + 1).sum() + gammaln(k + 1))


def entropy(responsibilities: Array) -> float:
    """The entropy of responsibilities (K, N) in nats, summed over all points."""
    return -float(xlogy(responsibilities, responsibilities).sum())
