"""The cheapest way to remove one component from a mixture with any covariances.

The change in evidence when two components are merged has a closed form: their moments and their
responsibilities add up. The change when one is dropped also depends on the moments of the
components that take over its points; it is approximated as if these stayed the same.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from coterie.mixtures.covariances import log_evidence, with_reach
from coterie.mixtures.gaussians import Array, Moments, expectation, log_joint
from coterie.mixtures.shared_fit import Cloud, SharedFit, fit_from

LEAST_LEFT = 1e-12


class Merges(NamedTuple):
    """All pairs (P,) of components, and the change in evidence (P,) if they are merged."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    gain: Array


def merges(cloud: Cloud, fit: SharedFit) -> Merges:
    """The change in evidence for merging each pair of components."""
    frame, parts = with_reach(cloud.frame, fit.parts), fit.parts
    first, second = np.triu_indices(fit.n_clusters, 1)
    joint = joined(parts.take(first), parts.take(second))
    own = log_evidence(parts, fit.base.covariance, fit.strength, frame) + gammaln(parts.mass + 1)
    whole = log_evidence(joint, fit.base.covariance, fit.strength, frame) + gammaln(joint.mass + 1)
    r = fit.responsibilities
    disorder = xlogy(r, r).sum(1)
    shared = np.array([_negative_entropy(r[a] + r[b]) for a, b in zip(first, second, strict=True)])
    gain = whole - own[first] - own[second] - shared + disorder[first] + disorder[second]
    return Merges(first, second, gain)


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
    pairs, drops = merges(cloud, fit), drop_gains(fit)
    pair, component = int(pairs.gain.argmax()), int(drops.argmax())
    if pairs.gain[pair] >= drops[component]:
        responsibilities = _merged(fit, int(pairs.first[pair]), int(pairs.second[pair]))
    else:
        responsibilities = _dropped(cloud, fit, component)
    return fit_from(cloud, responsibilities, fit.strength, steps=steps)


def _merged(fit: SharedFit, one: int, other: int) -> Array:
    r = fit.responsibilities
    return np.concatenate([np.delete(r, [one, other], 0), (r[one] + r[other])[None]])


def _dropped(cloud: Cloud, fit: SharedFit, component: int) -> Array:
    rest = fit.mixture.take(np.delete(np.arange(fit.n_clusters), component))
    return expectation(log_joint(cloud.rows, rest)).responsibilities


def _negative_entropy(shares: Array) -> float:
    return float(xlogy(shares, shares).sum())
