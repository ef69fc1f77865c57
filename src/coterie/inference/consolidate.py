"""Consolidation: let the likelihood decide which of the clusters found are real.

A network that finds clusters one by one cannot take a cluster back. Where clusters have a Gaussian
density, the clusters found are the components of a mixture. A component that is no Gaussian but two
is split (`inference/splits.py`). Then one component after another is dropped or merged with its
neighbour, whichever costs the least likelihood, and the mixture re-estimated by EM from where it
stands; of the mixtures on this path the one with the best information criterion is
kept. The same EM steps update earlier clusters in the light of later ones (AMCP, Algorithm 1, line
12). Stopping at the first removal that does not pay would leave clusters in pieces where the data
are wider than those of the network's training: each single removal costs, all together pay.

The criterion is BIC with one refinement: what a component's mean and variance cost depends on the
points that belong to it, not on all (as in Figueiredo and Jain's message length, 2002).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.inference.mixture import (
    Array,
    Fit,
    Mixture,
    estimate,
    explain,
    improve,
    log_density,
    settle,
)
from coterie.inference.splits import best_splits

TOO_NARROW = 0.5
PAIRS_AT_A_TIME = 128
# exp of more than this is no longer finite in float64.
LARGEST_LOG = 700.0


class Removal(NamedTuple):
    """The cheapest way to have one component less, and what it costs in log-likelihood."""

    cost: float
    mixture: Mixture


def consolidate(
    points: NDArray,
    labels: NDArray[np.integer],
    n_clusters: int,
    *,
    em_steps: int = 2,
    change_k: bool = True,
    cluster_scale: float | None = None,
) -> Fit:
    """A mixture of Gaussians from a first partition of one set.

    points: (N, D); labels: (N,), -1 for points without a cluster. Without change_k there are
    n_clusters components to the end; cluster_scale is that of the clusters in training, by which
    splits are judged.
    """
    columns = np.ascontiguousarray(points.T, dtype=np.float64)
    members = (labels == np.arange(n_clusters)[:, None]).astype(np.float64)  # (K, N)
    fit = improve(columns, explain(columns, estimate(columns, members)), em_steps)
    if not change_k:
        return fit
    if cluster_scale is not None:
        fit = with_splits(columns, fit, em_steps, cluster_scale)
    best, best_score = fit, fit.total - complexity(fit.mixture, len(points))
    # Fewer components never explain more: once the likelihood alone is below the best score, so is
    # everything further down the path.
    while fit.mixture.n_clusters > 1 and fit.total > best_score:
        removal = cheapest_removal(columns, fit)
        fit = improve(columns, explain(columns, removal.mixture), em_steps)
        if (score := fit.total - complexity(fit.mixture, len(points))) >= best_score:
            best, best_score = fit, score
    return settle(columns, best)


def with_splits(
    columns: Array, fit: Fit, em_steps: int, cluster_scale: float, *, rounds: int = 3
) -> Fit:
    """The mixture with two components where one was not enough: points (D, N) of one set.

    Halves far narrower than the clusters in training are no clusters: rounded values would pay for
    them everywhere. A component that stands for three needs a second round.
    """
    d, n_points = columns.shape
    for _ in range(rounds):
        splits = best_splits(columns, fit)
        sizes = np.maximum(np.exp(splits.halves.log_weight) * n_points, 1.0)  # (K, 2)
        cost = d * (np.log(sizes).sum(1) - np.log(sizes.sum(1))) + 0.5 * math.log(n_points)
        plausible = (np.exp(splits.halves.log_scale) > TOO_NARROW * cluster_scale).all((1, 2))
        # A half with fewer points than parameters would fit anything.
        pays = plausible & (splits.gain > cost) & (sizes.min(1) > 2 * d)
        if not pays.any():
            break
        parts = (
            np.concatenate([whole[~pays], *half[pays]])
            for whole, half in zip(fit.mixture, splits.halves, strict=True)
        )
        fit = improve(columns, explain(columns, Mixture(*parts)), 2 * em_steps)
    return fit


def complexity(mixture: Mixture, n_points: int) -> float:
    """What the parameters cost, in nats: half a log of the sample size behind each of them."""
    n_clusters, columns = mixture.mean.shape
    own_points = np.maximum(np.exp(mixture.log_weight) * n_points, 1.0)
    return columns * float(np.log(own_points).sum()) + 0.5 * n_clusters * math.log(n_points)


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
    """Each component of one mixture and that of another, replaced by one of their joint moments."""
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
    """1 - r, at least the smallest difference that float64 can tell from zero."""
    rest: Array = np.maximum(1 - responsibilities, np.finfo(np.float64).eps)
    return rest
