"""Covariances with a common prior, estimated jointly for all clusters.

A cluster of few points in many columns does not determine its own covariance. Here the covariances
of a mixture are draws from an inverse-Wishart around a common one, the base, times a volume for
each cluster; the prior counts as `strength` pseudo-points per cluster. With a small strength every
cluster has its own covariance; an infinite one gives all the same shape (tied up to the volume, the
one difference that few points can determine). The base is full, and shrunk towards its diagonal.

Given responsibilities, the evidence of the points of a cluster has a closed form: the normaliser of
the inverse-Wishart posterior over that of its prior (Bishop, Pattern Recognition and Machine
Learning, 10.2). It compares strengths and numbers of clusters, and remains finite where a cluster
has fewer points than columns and the likelihood is unbounded.

Shapes: K components, D columns, as in `mixtures/gaussians.py`.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from coterie.mixtures.gaussians import LOG_TWO_PI, Array, Moments

STRENGTHS = (1.0, 4.0, 16.0, 64.0, 256.0, math.inf)
# Relative to a column's variance: anything narrower is a rounded value, not a cluster.
FLOOR = 1e-4
# The prior covariance of the means is at least this share of the total covariance: with less, an
# additional cluster would cost too little in many columns, and noise would be divided.
LEAST_REACH = 0.2


# The prior standard deviation, around zero, of clusters' log volumes (a factor of the variance).
VOLUME_SPREAD = 0.5


class Frame(NamedTuple):
    """All points of a set: their centre (D,), covariance (D, D), number, and a variance floor (D,).

    reach: the prior covariance of cluster means, as a share of the total covariance.
    """

    centre: Array
    total: Array
    floor: Array
    n_points: int
    reach: float = 1.0


class Base(NamedTuple):
    """The common covariance (D, D), and the penalty for its parameters in nats."""

    covariance: Array
    cost: float


def frame_of(points: Array) -> Frame:
    """The frame of points (N, D)."""
    n_points, d = points.shape
    variance = points.var(0)
    floor = FLOOR * variance + np.finfo(np.float64).tiny ** 0.5
    total = np.cov(points.T, bias=True).reshape(d, d) + np.diag(floor)
    return Frame(points.mean(0), total, floor, n_points)


def with_reach(frame: Frame, parts: Moments) -> Frame:
    """The frame with the reach estimated from the means of K clusters; the minimum for K = 1."""
    k, d = parts.mean.shape
    if k == 1:
        return frame._replace(reach=LEAST_REACH)
    z = np.linalg.solve(np.linalg.cholesky(frame.total), (parts.mean - frame.centre).T)
    between = float(parts.mass @ np.square(z).sum(0)) / (frame.n_points * d)
    return frame._replace(reach=min(max(between * k / (k - 1), LEAST_REACH), 1.0))


def common(parts: Moments, frame: Frame) -> Base:
    """The common covariance of K clusters: pooled within them, shrunk towards its diagonal.

    Its cost is the log-likelihood minus the log-evidence of an inverse-Wishart around the diagonal,
    plus a BIC-style penalty for the diagonal.
    """
    d = parts.mean.shape[1]
    within, dof = _within(parts, frame)
    covariance = _shrunk(within, dof)
    each = np.array([dof])
    fits = _tied_evidence(within[None], each, covariance)
    diagonal = np.diag(np.diagonal(within)) / dof
    evidence = _wishart_evidence(within[None], each, diagonal, np.array([[float(d)]]))
    return Base(covariance, float(fits[0] - evidence[0, 0]) + 0.5 * d * math.log(frame.n_points))


def common_covariance(parts: Moments, frame: Frame) -> Array:
    """The common covariance (D, D) alone, which is all that a step of EM needs."""
    return _shrunk(*_within(parts, frame))


def covariances(parts: Moments, base: Array, strength: float, floor: Array) -> Array:
    """The posterior means of K covariances (K, D, D)."""
    d = parts.mean.shape[1]
    of_volume: Array = _volumes(parts, base)[:, None, None] * base
    if math.isinf(strength):
        return of_volume
    own: Array = parts.scatter + strength * of_volume
    own /= (parts.mass + strength)[:, None, None]
    each = np.arange(d)
    own[:, each, each] += floor
    return own


def log_evidence(parts: Moments, base: Array, strength: float, frame: Frame) -> Array:
    """Log-evidence (K,) of the points of each cluster, its mean and covariance integrated out.

    The prior of the mean is normal around the centre, with covariance reach times the total. The
    mean is integrated out at the posterior mean of the covariance, the covariance exactly.
    """
    return evidence_by_strength(parts, base, (strength,), frame)[0]


def evidence_by_strength(
    parts: Moments, base: Array, strengths: Sequence[float], frame: Frame
) -> Array:
    """The same for each of S strengths: (S, K)."""
    d = parts.mean.shape[1]
    mass = np.maximum(parts.mass, 1.0)
    dof = mass - 1
    volumes = _volumes(parts, base)
    scatter = parts.scatter / volumes[:, None, None]
    finite = np.array([each for each in strengths if math.isfinite(each)])
    spread = np.empty((len(strengths), len(mass)))
    is_finite = np.isfinite(strengths)
    if len(finite):
        spread[is_finite] = _wishart_evidence(scatter, dof, base, finite[:, None])
    if not is_finite.all():
        spread[~is_finite] = _tied_evidence(scatter, dof, base)
    spread -= 0.5 * dof * d * np.log(volumes)  # the Jacobian
    spread -= 0.5 * np.log1p(0.5 * dof * d * VOLUME_SPREAD**2)
    spread -= 0.5 * np.square(np.log(volumes) / VOLUME_SPREAD)
    own = np.stack([covariances(parts, base, each, frame.floor) for each in strengths])
    factor = np.linalg.cholesky(frame.reach * frame.total + own / mass[:, None, None])
    z = np.linalg.solve(factor, (parts.mean - frame.centre)[..., None])[..., 0]
    log_det = np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
    place = -log_det - 0.5 * np.square(z).sum(-1) - 0.5 * d * (LOG_TWO_PI + np.log(mass))
    evidence: Array = spread + place
    return evidence


def _within(parts: Moments, frame: Frame) -> tuple[Array, float]:
    """The scatter (D, D) within K clusters, each in units of its volume, and its dof."""
    dof = max(frame.n_points - len(parts.mass), 1.0)
    floor = np.diag(frame.floor * dof)
    pooled = (parts.scatter.sum(0) + floor) / dof
    return (parts.scatter / _volumes(parts, pooled)[:, None, None]).sum(0) + floor, dof


def _shrunk(within: Array, dof: float) -> Array:
    """The covariance of a scatter (D, D), with D pseudo-points of its diagonal."""
    strength = float(len(within))
    diagonal = np.diag(np.diagonal(within)) / dof
    covariance: Array = (within + strength * diagonal) / (dof + strength)
    return covariance


def _volumes(parts: Moments, base: Array) -> Array:
    """The most probable volumes (K,) of clusters relative to the common covariance, in one step."""
    d = base.shape[0]
    squares = np.einsum("kab,ab->k", parts.scatter, np.linalg.inv(base))
    imaginary = 2 / VOLUME_SPREAD**2
    volumes: Array = (squares + imaginary) / (np.maximum(parts.mass - 1, 0) * d + imaginary)
    return volumes


def _wishart_evidence(scatter: Array, dof: Array, base: Array, strength: Array) -> Array:
    """Log-density of K scatters (K, D, D) with dof (K,) under inverse-Wishart priors.

    The mean of each prior is the base; strength (S, 1), one for each of them: (S, K).
    """
    d = scatter.shape[-1]
    before = strength + d + 1
    prior = strength[..., None, None] * base  # (S, 1, D, D)
    evidence: Array = (
        0.5 * before * _log_det(prior)
        - 0.5 * (before + dof) * _log_det(prior + scatter)
        + _log_multigamma(0.5 * (before + dof), d)
        - _log_multigamma(0.5 * before, d)
        - 0.5 * dof * d * math.log(math.pi)
    )
    return evidence


def _tied_evidence(scatter: Array, dof: Array, base: Array) -> Array:
    """The same if the covariance equals the base."""
    squares = np.einsum("kab,ab->k", scatter, np.linalg.inv(base))
    evidence: Array = -0.5 * (dof * (_log_det(base) + scatter.shape[-1] * LOG_TWO_PI) + squares)
    return evidence


def _log_multigamma(a: Array, d: int) -> Array:
    """log Gamma_d, without the term of pi that cancels in ratios: (...,) -> (...,).

    As scipy's `multigammaln`, which checks its arguments for longer than it computes.
    """
    value: Array = gammaln(a[..., None] - 0.5 * np.arange(d)).sum(-1)
    return value


def _log_det(matrix: Array) -> Array:
    log_det: Array = np.linalg.slogdet(matrix)[1]
    return log_det
