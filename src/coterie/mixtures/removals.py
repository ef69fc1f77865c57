"""Removals: reduce a mixture by one component at the least cost.

A component may be dropped, so that the others share its points, or merged with another into one
Gaussian with their joint moments. Both costs have a closed form given the responsibilities.
"""

from typing import NamedTuple

import numpy as np

from coterie.mixtures.em import Array, Fit, Mixture, log_density

PAIRS_AT_A_TIME = 128
# Larger arguments of exp overflow in float64.
LARGEST_LOG = 700.0


class Removal(NamedTuple):
    """A mixture with one component less, and the cost in log-likelihood."""

    cost: float
    mixture: Mixture


def cheapest_removal(columns: Array, fit: Fit) -> Removal:
    """Compare dropping every component and merging every pair, for one set of points (D, N)."""
    removals = _cheapest_drop(fit), _cheapest_merge(columns, fit)
    return min(removals, key=lambda removal: removal.cost)


def _cheapest_drop(fit: Fit) -> Removal:
    # Without component j the likelihood of x_i is (1 - r_ij) / (1 - pi_j) times what it was.
    mixture, n_points = fit.mixture, len(fit.log_likelihood)
    others = np.log(_rest(fit.responsibilities)).sum(1)
    renormalised = n_points * np.log1p(-np.minimum(np.exp(mixture.log_weight), 1 - 1e-12))
    cost = renormalised - others  # (K,)
    victim = int(cost.argmin())
    kept = mixture.take([j for j in range(len(cost)) if j != victim])
    log_total = np.logaddexp.reduce(kept.log_weight)
    return Removal(float(cost[victim]), kept._replace(log_weight=kept.log_weight - log_total))


def _cheapest_merge(columns: Array, fit: Fit) -> Removal:
    # With a and b replaced by one Gaussian m of their joint moments the likelihood of x_i becomes
    # 1 - r_ia - r_ib + (pi_a + pi_b) N(x_i; m) / p(x_i) times what it was.
    mixture, responsibilities, log_likelihood = fit
    first, second = np.triu_indices(mixture.n_clusters, 1)
    merged = _merged(mixture.take(first), mixture.take(second))  # (P,)

    def cost_of(pairs: slice) -> Array:
        log_weight, mean, log_scale = (part[pairs] for part in merged)
        ratio = log_density(columns, mean, log_scale)  # (pairs, N)
        ratio += log_weight[:, None] - log_likelihood
        ratio = np.exp(np.minimum(ratio, LARGEST_LOG, out=ratio), out=ratio)
        ratio += _rest(responsibilities[first[pairs]] + responsibilities[second[pairs]])
        cost: Array = -np.log(ratio, out=ratio).sum(1)
        return cost

    # In blocks: with 64 components there are two thousand pairs.
    starts = range(0, len(first), PAIRS_AT_A_TIME)
    cost = np.concatenate([cost_of(slice(at, at + PAIRS_AT_A_TIME)) for at in starts])  # (P,)
    best = int(cost.argmin())
    kept = mixture.take(
        [j for j in range(mixture.n_clusters) if j not in (first[best], second[best])]
    )
    parts = zip(kept, merged.take([best]), strict=True)
    return Removal(float(cost[best]), Mixture(*(np.concatenate(part) for part in parts)))


def _merged(one: Mixture, other: Mixture) -> Mixture:
    """Merge the components of two mixtures pairwise into Gaussians with their joint moments."""
    log_weight = np.logaddexp(one.log_weight, other.log_weight)
    share = np.exp(one.log_weight - log_weight)[:, None]
    mean = share * one.mean + (1 - share) * other.mean
    variance = (
        share * np.exp(2 * one.log_scale)
        + (1 - share) * np.exp(2 * other.log_scale)
        + share * (1 - share) * np.square(one.mean - other.mean)
    )
    return Mixture(log_weight, mean, 0.5 * np.log(variance))


def _rest(responsibilities: Array) -> Array:
    """1 - r, at least the machine epsilon of float64."""
    rest: Array = np.maximum(1 - responsibilities, np.finfo(np.float64).eps)
    return rest
