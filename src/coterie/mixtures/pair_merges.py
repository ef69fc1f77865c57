"""The cheapest way to remove one component from a mixture with any covariances.

The change in evidence when two components are merged has a closed form: their moments and their
responsibilities add up. The change when one is dropped also depends on the moments of the
components that take over its points; it is approximated as if these stayed the same.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from coterie.mixtures.covariances import log_evidence, with_reach
from coterie.mixtures.gaussians import Array, Moments, expectation, log_joint
from coterie.mixtures.shared_fit import Cloud, SharedFit, fit_from

LEAST_LEFT = 1e-12


class Merge(NamedTuple):
    """Two components, and the change in evidence if they are merged."""

    first: int
    second: int
    gain: float


def best_merge(cloud: Cloud, fit: SharedFit) -> Merge:
    """The pair of components whose merger gains the most evidence, or loses the least."""
    frame, parts = with_reach(cloud.frame, fit.parts), fit.parts
    first, second = np.triu_indices(fit.n_clusters, 1)
    joint = joined(parts.take(first), parts.take(second))
    own = log_evidence(parts, fit.base.covariance, fit.strength, frame) + gammaln(parts.mass + 1)
    whole = log_evidence(joint, fit.base.covariance, fit.strength, frame) + gammaln(joint.mass + 1)
    most = whole - own[first] - own[second]  # if no point is shared between the two
    disorder = xlogy(fit.responsibilities, fit.responsibilities).sum(1)
    best = Merge(0, 0, -math.inf)
    for pair in np.argsort(-most):
        if most[pair] <= best.gain:
            break
        one, other = int(first[pair]), int(second[pair])
        together = fit.responsibilities[one] + fit.responsibilities[other]
        shared = xlogy(together, together).sum() - disorder[one] - disorder[other]
        if most[pair] - shared > best.gain:
            best = Merge(one, other, float(most[pair] - shared))
    return best


def joined(one: Moments, other: Moments) -> Moments:
    """The moments of the union of two components, for each of P pairs."""
    mass = one.mass + other.mass
    share = (one.mass / mass)[:, None]
    apart = one.mean - other.mean
    between = (one.mass * other.mass / mass)[:, None, None] * apart[:, :, None] * apart[:, None]
    mean = share * one.mean + (1 - share) * other.mean
    return Moments(mass, mean, one.scatter + other.scatter + between)


def drop_gains(fit: SharedFit) -> Array:
    """The approximate change in evidence if each component is dropped: (K,)."""
    r, d = fit.responsibilities, fit.parts.mean.shape[1]
    left = np.log(np.maximum(1 - r, LEAST_LEFT)).sum(1)
    share = np.minimum(np.exp(fit.mixture.log_weight), 1 - LEAST_LEFT)
    parameters = 1 + d + (0 if math.isinf(fit.strength) else d * (d + 1) / 2)
    saved: Array = 0.5 * parameters * np.log(np.maximum(fit.parts.mass, 1.0))
    return left - r.shape[1] * np.log1p(-share) + saved


def with_one_less(cloud: Cloud, fit: SharedFit, *, steps: int) -> SharedFit:
    """The fit with one component less, by the best merge or drop, after some EM steps."""
    pair, drops = best_merge(cloud, fit), drop_gains(fit)
    component = int(drops.argmax())
    if pair.gain >= drops[component]:
        responsibilities = _merged(fit, pair.first, pair.second)
    else:
        responsibilities = _dropped(cloud, fit, component)
    return fit_from(cloud, responsibilities, fit.strength, steps=steps)


def _merged(fit: SharedFit, one: int, other: int) -> Array:
    r = fit.responsibilities
    return np.concatenate([np.delete(r, [one, other], 0), (r[one] + r[other])[None]])


def _dropped(cloud: Cloud, fit: SharedFit, component: int) -> Array:
    rest = fit.mixture.take(np.delete(np.arange(fit.n_clusters), component))
    return expectation(log_joint(cloud.rows, rest)).responsibilities
