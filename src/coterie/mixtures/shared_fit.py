"""A mixture with covariances of one strength, fitted by EM and weighed by its evidence.

The evidence is the variational one (Bishop, Pattern Recognition and Machine Learning, 10.2.2): with
responsibilities q it bounds the log-probability of the points from below, parameters integrated
out. BIC charges every covariance in full, however much the clusters have in common, and sees too
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
    covariances,
    frame_of,
    log_evidence,
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

# In nats of all points together: EM that gains less in a step has arrived.
ARRIVED = 0.05


class Cloud(NamedTuple):
    """The points of one set as EM wants them: (N, D), their products (F, N), their frame."""

    points: Array
    rows: Array
    frame: Frame


class SharedFit(NamedTuple):
    """A mixture, what it says of the points, and its evidence.

    responsibilities: (K, N); log_likelihood: of all points; parts: the moments under the
    responsibilities; strength: which of STRENGTHS has the largest evidence.
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
    """EM from responsibilities (K, N), and the strength of the largest evidence where it ends."""
    before = -math.inf
    for _ in range(steps):
        parts = moments(cloud.rows, responsibilities, cloud.points.shape[1])
        base = common(parts, cloud.frame)
        mixture = mixture_of(parts, base, strength, cloud.frame)
        responsibilities, log_likelihood = expectation(log_joint(cloud.rows, mixture))
        now = float(log_likelihood.sum())
        if now - before < ARRIVED:
            break
        before = now
    return weighed(cloud, responsibilities, now)


def weighed(cloud: Cloud, responsibilities: Array, log_likelihood: float) -> SharedFit:
    """The fit of responsibilities (K, N), with the strength of the largest evidence."""
    parts = moments(cloud.rows, responsibilities, cloud.points.shape[1])
    base = common(parts, cloud.frame)
    frame = with_reach(cloud.frame, parts)
    each = [float(log_evidence(parts, base.covariance, s, frame).sum()) for s in STRENGTHS]
    best = int(np.argmax(each))
    evidence = each[best] - base.cost + weight_evidence(parts.mass) + entropy(responsibilities)
    mixture = mixture_of(parts, base, STRENGTHS[best], cloud.frame)
    return SharedFit(
        mixture, responsibilities, log_likelihood, parts, base, STRENGTHS[best], evidence
    )


def mixture_of(parts: Moments, base: Base, strength: float, frame: Frame) -> FullMixture:
    """The M-step: the mixture behind the moments of K components."""
    own = covariances(parts, base.covariance, strength, frame.floor)
    return FullMixture(np.log(parts.mass / parts.mass.sum()), parts.mean, own)


def weight_evidence(mass: Array) -> float:
    """Log-evidence of cluster sizes (K,), weights uniform on the simplex.

    Components have no names, so each partition is there K! times.
    """
    k = len(mass)
    return float(gammaln(k) - gammaln(mass.sum() + k) + gammaln(mass + 1).sum() + gammaln(k + 1))


def entropy(responsibilities: Array) -> float:
    """In nats, of all points together: (K, N)."""
    return -float(xlogy(responsibilities, responsibilities).sum())
