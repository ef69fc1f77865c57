"""Evidence: the marginal likelihood of the points given the number of clusters.

The likelihood alone always prefers more clusters. Its mean over a prior does not, and no penalty
has to be chosen. The prior is that of the networks' training: mixing weights uniform on the
simplex, means normal around the data, log scales normal around that of training, adapted to the
data. The mean is computed by Laplace's approximation with the full Hessian at the mode
(Bishop, Pattern Recognition and Machine Learning, 4.4.1): the parameters of overlapping clusters
are poorly determined, which is also where the number of clusters is uncertain.

Shapes: N points in D columns, K components, columns (D, N), as in `mixtures/em.py`.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from coterie.mixtures.em import VARIANCE_FLOOR, Array, Fit, Mixture, explain, scatter_about

# Standard deviation of the log scales in training, around the log of `cluster_scale`.
SCALE_SPREAD = 0.1
# Standard deviation of the means in training, in cluster scales; the data may spread further.
PLACE_SPREAD = 12.0
# Without knowledge of the scales, they may differ by a factor of about three.
LOOSE_SPREAD = 1.0
# Components narrower than this multiple of the clusters of training, or of the set if these are
# narrower, are rejected: otherwise rounded values would always favour them.
TOO_NARROW = 0.5
# Scale of the Cauchy prior on the shift of a set's typical log scale: mostly close to zero.
SHIFT_OF_SCALE = 0.01
# MixturePrior weight of SCALE_SPREAD, as a number of observed scales.
SCALES_SEEN = 30.0
# Floor of the curvature of the posterior, in units of a component.
LEAST_CURVATURE = 0.1
LOG_TWO_PI = math.log(2 * math.pi)


class MixturePrior(NamedTuple):
    """The prior on the means and scales of clusters.

    place, place_spread, log_scale: (D,). Components narrower than narrowest are rejected.
    """

    place: Array
    place_spread: Array
    log_scale: Array
    scale_spread: float
    narrowest: float


class Judged(NamedTuple):
    """A mixture at its mode, the prior adapted to its scales, and the log-evidence of its K."""

    fit: Fit
    prior: MixturePrior
    log_evidence: float


def trained_prior(columns: Array, cluster_scale: float) -> MixturePrior:
    """The prior of training, centred and widened for points (D, N)."""
    spread = np.maximum(columns.std(1), PLACE_SPREAD * cluster_scale)
    log_scale = np.full(len(columns), math.log(cluster_scale))
    narrowest = TOO_NARROW * cluster_scale
    return MixturePrior(columns.mean(1), spread, log_scale, SCALE_SPREAD, narrowest)


def own_prior(columns: Array, mixture: Mixture) -> MixturePrior:
    """A weak prior around the mixture's own scales: points (D, N)."""
    spread = np.maximum(columns.std(1), math.sqrt(VARIANCE_FLOOR))
    return MixturePrior(columns.mean(1), spread, mixture.log_scale.mean(0), LOOSE_SPREAD, 0.0)


def adapted(trained: MixturePrior, log_scale: Array) -> MixturePrior:
    """The prior with its typical scale and spread adapted to log_scale (K, D).

    Slightly different scales shift it; very different ones, as of a component that covers two
    clusters, widen it without a shift, so that clusters like those of training stay probable.
    """
    distance = (log_scale - trained.log_scale).ravel()
    n_scales, total, squares = distance.size, float(distance.sum()), float(distance @ distance)
    shift, variance = 0.0, SCALE_SPREAD**2
    for _ in range(5):
        scatter = squares - shift * (2 * total - n_scales * shift)
        variance = (SCALES_SEEN * SCALE_SPREAD**2 + scatter) / (SCALES_SEEN + n_scales)
        variance = max(variance, SCALE_SPREAD**2)
        pull = (
            2 * variance / (SHIFT_OF_SCALE**2 + shift**2)
        )  # the Cauchy as a normal with this many scales
        shift = total / (n_scales + pull)
    return trained._replace(
        log_scale=trained.log_scale + shift,
        scale_spread=math.sqrt(variance),
        narrowest=trained.narrowest * math.exp(min(shift, 0.0)),
    )


def judge(
    columns: Array,
    mixture: Mixture,
    trained: MixturePrior,
    *,
    limit: int = 30,
    tolerance: float = 0.02,
) -> Judged:
    """EM to the mode of the posterior, from a mixture of points (D, N), and the evidence there.

    tolerance: in nats, over all points. Evidence that is not finite becomes minus infinity, so that
    it decides nothing.
    """
    prior = adapted(trained, mixture.log_scale)
    fit, before = explain(columns, mixture), -math.inf
    for _ in range(limit):
        mixture = most_probable(columns, fit, prior)
        prior = adapted(trained, mixture.log_scale)
        fit = explain(columns, mixture)
        now = fit.total + log_prior(mixture, prior) + _log_move(trained, prior)
        if not now - before >= tolerance:
            break
        before = now
    evidence = log_evidence(columns, fit, prior) + _log_move(trained, prior)
    return Judged(fit, prior, evidence if math.isfinite(evidence) else -math.inf)


def most_probable(columns: Array, fit: Fit, prior: MixturePrior) -> Mixture:
    """The M-step under the prior: points (D, N); scales are initialised from the fit."""
    responsibilities = fit.responsibilities
    mass = responsibilities.sum(1)
    n_clusters, n_points = responsibilities.shape
    log_weight = np.log((mass + 1) / (n_points + n_clusters))
    mass = mass[:, None]
    average = responsibilities @ columns.T / np.maximum(mass, 1e-9)
    scatter = scatter_about(columns, responsibilities, average) + VARIANCE_FLOOR * mass

    log_scale, place_precision = fit.mixture.log_scale, prior.place_spread**-2.0
    for _ in range(3):
        precision = mass * np.exp(-2 * log_scale)
        mean = (precision * average + place_precision * prior.place) / (precision + place_precision)
        about_mean = scatter + mass * np.square(average - mean)
        log_scale = climb(log_scale, about_mean, mass, prior.log_scale, prior.scale_spread)
    return Mixture(log_weight, mean, log_scale)


def climb(log_scale: Array, scatter: Array, mass: Array, typical: Array, spread: float) -> Array:
    """A Newton step towards the most probable log scales of points with this scatter and mass.

    Limited to half a unit: far from the mode the square of the scale overflows.
    """
    prior_precision = spread**-2
    squares = scatter * np.exp(-2 * log_scale)
    step = squares - mass - prior_precision * (log_scale - typical)
    step /= 2 * squares + prior_precision
    np.minimum(step, 0.5, out=step)
    np.maximum(step, -0.5, out=step)
    step += log_scale
    return step


def log_prior(mixture: Mixture, prior: MixturePrior) -> float:
    """Log-density of the log-odds of the weights, the means and the log scales."""
    place = (mixture.mean - prior.place) / prior.place_spread
    scale = (mixture.log_scale - prior.log_scale) / prior.scale_spread
    widths = np.log(prior.place_spread).sum() + len(prior.place) * math.log(prior.scale_spread)
    return float(
        gammaln(mixture.n_clusters)
        + mixture.log_weight.sum()  # the Jacobian of the log-odds
        - 0.5 * (np.square(place).sum() + np.square(scale).sum())
        - mixture.n_clusters * widths
        - mixture.mean.size * LOG_TWO_PI
    )


def log_evidence(columns: Array, fit: Fit, prior: MixturePrior) -> float:
    """Laplace's log-evidence of a mixture of points (D, N) at its mode.

    Components are exchangeable, so each mode occurs K! times.
    """
    matrix = information(columns, fit, prior)
    if not np.isfinite(matrix).all():
        return -math.inf
    curvature = np.maximum(np.linalg.eigvalsh(matrix), LEAST_CURVATURE)
    # The matrix has the means in units of their scales.
    log_det = float(np.log(curvature).sum() - 2 * fit.mixture.log_scale.sum())
    peak = fit.total + log_prior(fit.mixture, prior)
    volume = 0.5 * (len(matrix) * LOG_TWO_PI - log_det)
    return peak + volume + float(gammaln(fit.mixture.n_clusters + 1))


def information(columns: Array, fit: Fit, prior: MixturePrior) -> Array:
    """The negative Hessian of the log-posterior, points (D, N): (P, P), P = K (1 + 2 D) - 1.

    The parameters of a component are its log-odds, its means in units of its scales, and its log
    scales, one component after another; the largest has no log-odds, being the reference.
    """
    (log_weight, mean, log_scale), responsibilities, _ = fit
    k, d = mean.shape
    n_points, n_features = columns.shape[1], 1 + 2 * d
    # The derivatives of log pi_k + log N_k at every point: 1, z and z^2 - 1.
    slopes = np.empty((k, n_features, n_points))
    slopes[:, 0] = 1
    z = slopes[:, 1 : 1 + d]
    np.subtract(columns, mean[:, :, None], out=z)
    z *= np.exp(-log_scale)[:, :, None]
    np.square(z, out=slopes[:, 1 + d :])
    slopes[:, 1 + d :] -= 1
    shares = slopes * responsibilities[:, None]
    sums = shares.sum(2)  # (K, F)

    bends = shares @ slopes.transpose(0, 2, 1)  # (K, F, F)
    of_mean = np.arange(1, 1 + d)
    of_scale = of_mean + d
    bends[:, of_mean, of_mean] -= sums[:, :1] + np.exp(2 * log_scale) / prior.place_spread**2
    bends[:, of_mean, of_scale] -= 2 * sums[:, of_mean]
    bends[:, of_scale, of_mean] -= 2 * sums[:, of_mean]
    bends[:, of_scale, of_scale] -= 2 * (sums[:, of_scale] + sums[:, :1]) + prior.scale_spread**-2

    flat = shares.reshape(k * n_features, n_points)
    matrix = (flat @ flat.T).reshape(k, n_features, k, n_features)
    each = np.arange(k)
    matrix[each, :, each] -= bends
    # The normalisation of the weights, for the points and the uniform prior together.
    weight = np.exp(log_weight)
    matrix[:, 0, :, 0] += (n_points + k) * (np.diag(weight) - np.outer(weight, weight))
    kept = np.delete(np.arange(k * n_features), n_features * int(weight.argmax()))
    return matrix.reshape(k * n_features, -1)[np.ix_(kept, kept)]


def _log_move(trained: MixturePrior, prior: MixturePrior) -> float:
    """Log-density of the adapted scale and spread, zero if they are those of training."""
    shift = float((prior.log_scale - trained.log_scale)[0])
    wider = (prior.scale_spread / SCALE_SPREAD) ** 2
    return -math.log1p((shift / SHIFT_OF_SCALE) ** 2) - 0.5 * SCALES_SEEN * (
        1 / wider - 1 + math.log(wider)
    )
