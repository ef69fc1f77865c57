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

Shapes: K components, D columns, as in `mixtures/gaussians.py`; leading axes, where there are any,
are mixtures side by side, each with a base of its own.
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
    """The common covariance (..., D, D), and the penalty for its parameters in nats (...)."""

    covariance: Array
    cost: Array


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
    d = parts.mean.shape[-1]
    within, dof = _within(parts, frame)
    covariance = _shrunk(within, dof)
    alone, each = within[..., None, :, :], np.array([dof])
    fits = _tied_evidence(alone, each, covariance)[..., 0]
    diagonal = within * np.eye(d) / dof
    evidence = _wishart_evidence(alone, each, diagonal, np.array([float(d)]))[0, ..., 0]
    return Base(covariance, fits - evidence + 0.5 * d * math.log(frame.n_points))


def common_covariance(parts: Moments, frame: Frame) -> Array:
    """The common covariance (..., D, D) alone, which is all that a step of EM needs."""
    return _shrunk(*_within(parts, frame))


def covariances(parts: Moments, base: Array, strength: float, floor: Array) -> Array:
    """The posterior means of K covariances (..., K, D, D)."""
    of_volume: Array = volumes(parts, base)[..., None, None] * base[..., None, :, :]
    return of_volume if math.isinf(strength) else _around(of_volume, parts, strength, floor)


def log_evidence(parts: Moments, base: Array, strength: float, frame: Frame) -> Array:
    """Log-evidence (..., K) of the points of each cluster, its mean and covariance integrated out.

    The prior of the mean is normal around the centre, with covariance reach times the total. The
    mean is integrated out at the posterior mean of the covariance, the covariance exactly.
    """
    return evidence_by_strength(parts, base, (strength,), frame)[0]


def evidence_by_strength(
    parts: Moments, base: Array, strengths: Sequence[float], frame: Frame
) -> Array:
    """The same for each of S strengths, in increasing order: (S, ..., K)."""
    d = parts.mean.shape[-1]
    mass = np.maximum(parts.mass, 1.0)
    dof = mass - 1
    volume = volumes(parts, base)
    scatter = parts.scatter / volume[..., None, None]
    of_volume = volume[..., None, None] * base[..., None, :, :]
    finite = np.array([each for each in strengths if math.isfinite(each)])
    spread = np.empty((len(strengths), *mass.shape))
    own = np.empty((len(strengths), *scatter.shape))
    if len(finite):
        spread[: len(finite)] = _wishart_evidence(scatter, dof, base, finite)
        each = finite.reshape(-1, *(1 for _ in scatter.shape))
        own[: len(finite)] = _around(of_volume, parts, each, frame.floor)
    if len(finite) < len(strengths):
        spread[len(finite) :] = _tied_evidence(scatter, dof, base)
        own[len(finite) :] = of_volume
    log_volume = np.log(volume)
    spread -= 0.5 * dof * d * log_volume  # the Jacobian
    spread -= 0.5 * np.log1p(0.5 * dof * d * VOLUME_SPREAD**2)
    spread -= 0.5 * np.square(log_volume / VOLUME_SPREAD)
    own /= mass[..., None, None]
    own += frame.reach * frame.total
    factor = np.linalg.cholesky(own)
    z = np.linalg.solve(factor, (parts.mean - frame.centre)[..., None])[..., 0]
    log_det = np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
    place = -log_det - 0.5 * np.square(z).sum(-1) - 0.5 * d * (LOG_TWO_PI + np.log(mass))
    evidence: Array = spread + place
    return evidence


def volumes(parts: Moments, base: Array) -> Array:
    """The most probable volumes (..., K) of clusters relative to the base, in one step."""
    d = base.shape[-1]
    squares = _squares(parts.scatter, base)
    imaginary = 2 / VOLUME_SPREAD**2
    volume: Array = (squares + imaginary) / (np.maximum(parts.mass - 1, 0) * d + imaginary)
    return volume


def _around(prior: Array, parts: Moments, strength: float | Array, floor: Array) -> Array:
    """The posterior means (..., K, D, D) of covariances, given the means of their priors."""
    own = strength * prior + parts.scatter
    own /= parts.mass[..., None, None] + strength
    _diagonal(own)[...] += floor
    return own


def _diagonal(matrices: Array) -> Array:
    """The diagonals (..., D) of matrices (..., D, D), to be written to."""
    view: Array = np.einsum("...aa->...a", matrices)
    return view


def _within(parts: Moments, frame: Frame) -> tuple[Array, float]:
    """The scatter (..., D, D) within K clusters, each in units of its volume, and its dof."""
    dof = max(frame.n_points - parts.mass.shape[-1], 1.0)
    floor = np.diag(frame.floor * dof)
    pooled = (parts.scatter.sum(-3) + floor) / dof
    *leading, k, d = parts.mean.shape
    share = 1 / volumes(parts, pooled)[..., None, :]  # (..., 1, K)
    within = (share @ parts.scatter.reshape(*leading, k, d * d)).reshape(*leading, d, d)
    return within + floor, dof


def _shrunk(within: Array, dof: float) -> Array:
    """The covariance of scatters (..., D, D), with D pseudo-points of its diagonal.

    These leave the diagonal as it is.
    """
    d = within.shape[-1]
    covariance: Array = within / (dof + d)
    _diagonal(covariance)[...] *= (dof + d) / dof
    return covariance


def _squares(scatter: Array, base: Array) -> Array:
    """The traces of the inverse of a base (..., D, D) times K scatters (..., K, D, D): (..., K)."""
    *leading, d, _ = base.shape
    inverse = np.linalg.inv(base).reshape(*leading, d * d, 1)
    squares: Array = (scatter.reshape(*scatter.shape[:-2], d * d) @ inverse)[..., 0]
    return squares


def _wishart_evidence(scatter: Array, dof: Array, base: Array, strengths: Array) -> Array:
    """Log-density of K scatters (..., K, D, D) with dof (K,) under inverse-Wishart priors.

    The mean of each prior is the base; strengths (S,), one for each of them: (S, ..., K).
    """
    d = scatter.shape[-1]
    strength = strengths.reshape(-1, *(1 for _ in scatter.shape[:-2]))  # (S, ..., 1)
    before = strength + d + 1
    log_det = d * np.log(strength) + _log_det(base)[..., None]
    prior = strength[..., None, None] * base[..., None, :, :]  # (S, ..., 1, D, D)
    evidence: Array = (
        0.5 * before * log_det
        - 0.5 * (before + dof) * _log_det(prior + scatter)
        + _log_multigamma(0.5 * (before + dof), d)
        - _log_multigamma(0.5 * before, d)
        - 0.5 * dof * d * math.log(math.pi)
    )
    return evidence


def _tied_evidence(scatter: Array, dof: Array, base: Array) -> Array:
    """The same if the covariance equals the base: (..., K)."""
    log_det = _log_det(base)[..., None] + base.shape[-1] * LOG_TWO_PI
    evidence: Array = -0.5 * (dof * log_det + _squares(scatter, base))
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
