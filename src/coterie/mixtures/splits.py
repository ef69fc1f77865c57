"""Splits: replace a component that covers two clusters.

A network that merges two neighbours leaves a component that is not Gaussian. Each component is cut
in two in many ways, evenly and with a small part at its edge; EM refines the parts on the
component's own points, with scales under the prior; the best cut measures the gain of a second
component.

The evidence here assumes hard assignments, which needs no Hessian. It is too strict for overlapping
parts, so a cut with a slightly negative gain may still be worth it.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.mixtures.em import Array, Fit, Mixture, explain, improve
from coterie.mixtures.evidence import MixturePrior, climb

# Here the logistic function is one in float32, and the exponential still finite.
LARGEST_ODDS = np.float32(80.0)
LEAST_POINTS = 4
# A split with a gain above this may be worth it if the halves overlap.
PROMISING = -3.0


class Splits(NamedTuple):
    """The best cut of each of K components: its gain in log-evidence (K,), and the two halves.

    halves: log_weight (K, 2), of the whole mixture; mean and log_scale (K, 2, D).
    """

    gain: Array
    halves: Mixture


class Starts(NamedTuple):
    """S ways to cut, in units of the scale: the halves' log_weight (S, 2) and mean (S, 2, D)."""

    log_weight: Array
    mean: Array


@cache
def starts(d: int) -> Starts:
    """Even cuts along the axes and between neighbouring ones, and small parts at the edge."""
    axes = np.eye(d)
    between = np.concatenate([axes[1:] + axes[:-1], axes[1:] - axes[:-1]]) / math.sqrt(2)
    even, rim = np.concatenate([axes, between]), np.concatenate([axes, -axes])
    apart = np.concatenate([0.9 * even, 2.4 * rim])
    share = np.repeat([0.5, 0.03], [len(even), len(rim)])
    mean = np.stack([apart * (1 - share)[:, None], -apart * share[:, None]], 1)
    return Starts(np.log(np.stack([share, 1 - share], 1)), mean)


def best_splits(columns: Array, fit: Fit, prior: MixturePrior, *, em_steps: int = 3) -> Splits:
    """Try to cut every component of a mixture of one set: points (D, N).

    The gain is minus infinity for a component with too few points or with halves too narrow for the
    prior; the latter is only checked if the gain is promising.
    """
    mixture, unit = fit.mixture, np.exp(prior.log_scale)
    features = _own_features(columns, fit, unit)
    gain, cuts = _settled_cuts(features, prior, em_steps)
    sizes = np.array([own.shape[1] for own in features])
    k, n_points = len(sizes), columns.shape[1]
    # One more component has more permutations, and shares the total weight.
    gain += math.log(k * (k + 1)) - 0.5 * math.log(n_points**2 / (2 * math.pi))
    gain[(sizes < LEAST_POINTS)[:, None] | ~np.isfinite(gain)] = -np.inf
    best = np.arange(k), gain.argmax(1)
    gained, halves = gain[best], Mixture(*(part[best] for part in cuts))
    for number in np.flatnonzero(gained > PROMISING):
        free = _freely_settled(features[number], Mixture(*(part[number] for part in halves)))
        if (unit * np.exp(free.log_scale)).min() < prior.narrowest:
            gained[number] = -np.inf
    return Splits(
        gained,
        Mixture(
            mixture.log_weight[:, None] + halves.log_weight,
            mixture.mean[:, None] + halves.mean * unit,
            prior.log_scale + halves.log_scale,
        ),
    )


def _settled_cuts(
    features: list[NDArray[np.float32]], prior: MixturePrior, em_steps: int
) -> tuple[Array, Mixture]:
    """All cuts of all components, in units of the prior's scale, and their gains: (K, S).

    Sums over points use float32, in which an exponential costs a third; proposals need not be
    exact.
    """
    k, d, sizes = len(features), len(prior.place), np.array([own.shape[1] for own in features])
    total = np.stack([own.sum(1, dtype=np.float64) for own in features])[:, None]  # (K, 1, F)
    log_weight, mean = (np.broadcast_to(part, (k, *part.shape)) for part in starts(d))
    log_scale = np.zeros(mean.shape)
    # One array of odds for all components and cuts, and a view (S, n) for each component.
    n_ways = mean.shape[1]
    odds = np.empty(n_ways * sizes.sum(), dtype=np.float32)
    pieces = np.split(odds, n_ways * sizes.cumsum()[:-1])
    views = [piece.reshape(n_ways, -1) for piece in pieces]
    moments = np.empty((*mean.shape[:-1], 1 + 2 * d))  # (K, S, 2, F)
    expected = np.zeros(d)
    for _ in range(em_steps):
        # The log-odds of the halves are linear in (1, z, z^2), and so are the sums of the M-step.
        _fill(views, _coefficients(log_weight, mean, log_scale), features)
        _share_of_first(odds)
        for first, view, own in zip(moments[:, :, 0], views, features, strict=True):
            first[:] = view @ own.T
        np.subtract(total, moments[:, :, 0], out=moments[:, :, 1])
        mass = np.maximum(moments[..., :1], 1e-6)
        mean = moments[..., 1 : 1 + d] / mass
        scatter = np.maximum(moments[..., 1 + d :] - mass * mean * mean, 0)
        log_weight = np.log((mass[..., 0] + 1) / (sizes[:, None, None] + 2))
        log_scale = climb(log_scale, scatter, mass, expected, prior.scale_spread)

    joint = _coefficients(log_weight, mean, log_scale)
    _fill(views, joint, features)
    _log_one_plus_exp(odds)
    gain = np.stack([view.sum(1, dtype=np.float64) for view in views])  # (K, S)
    gain += (joint[:, :, 0] * total).sum(-1)
    spread = prior.place_spread * np.exp(-prior.log_scale)
    masses = mass[..., 0]
    gain -= _price(masses, log_scale, spread, prior.scale_spread).sum(2)
    gain -= _before(total[:, 0], spread, prior.scale_spread)[:, None]
    gain += 0.5 * np.log(np.maximum(masses, 1).prod(2) / np.maximum(sizes, 1)[:, None])
    return gain, Mixture(log_weight, mean, log_scale)


def with_halves(mixture: Mixture, splits: Splits, chosen: NDArray[np.bool_]) -> Mixture:
    """The mixture with the halves of the chosen components (K,) in their place."""
    return Mixture(
        *(
            np.concatenate([whole[~chosen], *half[chosen]])
            for whole, half in zip(mixture, splits.halves, strict=True)
        )
    )


def _own_features(columns: Array, fit: Fit, unit: Array) -> list[NDArray[np.float32]]:
    """(1, z, z^2) of each component's own points, z their distance from its mean: K x (F, n)."""
    labels = fit.responsibilities.argmax(0)
    order = labels.argsort(kind="stable")
    labels = labels[order]
    z = (columns[:, order] - fit.mixture.mean.T[:, labels]) / unit[:, None]
    features = np.concatenate([np.ones_like(z[:1]), z, z * z]).astype(np.float32)
    ends = np.bincount(labels, minlength=fit.mixture.n_clusters).cumsum()[:-1]
    return [np.ascontiguousarray(own) for own in np.split(features, ends, 1)]


def _freely_settled(own: NDArray[np.float32], halves: Mixture) -> Mixture:
    """The halves refined without the prior: features (F, n) of one component."""
    columns = own[1 : 1 + halves.mean.shape[1]].astype(np.float64)
    return improve(columns, explain(columns, halves), 4).mixture


def _coefficients(log_weight: Array, mean: Array, log_scale: Array) -> Array:
    """log pi + log N(z) as a linear form in (1, z, z^2), less log(2 pi): (..., D) -> (..., F)."""
    precision = np.exp(-2 * log_scale)
    slope = mean * precision
    constant = log_weight - (0.5 * mean * slope + log_scale).sum(-1)
    return np.concatenate([constant[..., None], slope, -0.5 * precision], -1)


def _fill(
    views: list[NDArray[np.float32]], joint: Array, features: list[NDArray[np.float32]]
) -> None:
    """Write the log-odds of the second half into each component's view (S, n)."""
    difference = (joint[:, :, 1] - joint[:, :, 0]).astype(np.float32)
    for view, form, own in zip(views, difference, features, strict=True):
        np.matmul(form, own, out=view)


def _share_of_first(odds: NDArray[np.float32]) -> None:
    """The probability of the first half, from the log-odds of the second, in place."""
    np.minimum(odds, LARGEST_ODDS, out=odds)
    np.exp(odds, out=odds)
    odds += 1
    np.reciprocal(odds, out=odds)


def _log_one_plus_exp(odds: NDArray[np.float32]) -> None:
    """log(1 + exp(odds)), in place."""
    above = np.maximum(odds, 0)
    np.abs(odds, out=odds)
    np.negative(odds, out=odds)
    np.exp(odds, out=odds)
    odds += 1
    np.log(odds, out=odds)
    odds += above


def _before(total: Array, spread: Array, scale_spread: float) -> Array:
    """Log-evidence (K,) of single components with sums total (K, F) over their own points."""
    d = len(spread)
    mass = np.maximum(total[:, :1], 1e-6)
    mean = total[:, 1 : 1 + d] / mass
    scatter = np.maximum(total[:, 1 + d :] - mass * mean * mean, 0)
    log_scale = 0.5 * np.log((scatter + 1) / (mass + 1))
    for _ in range(2):
        log_scale = climb(log_scale, scatter, mass, np.zeros(d), scale_spread)
    fits = -(0.5 * scatter * np.exp(-2 * log_scale) + mass * log_scale).sum(1)
    evidence: Array = fits - _price(mass[:, 0], log_scale, spread, scale_spread)
    return evidence


def _price(mass: Array, log_scale: Array, spread: Array, scale_spread: float) -> Array:
    """The cost of a component's means and scales in evidence: (...), (..., D) -> (...)."""
    mass = mass[..., None]
    place = np.log1p(mass * np.square(spread * np.exp(-log_scale)))
    scale = np.log1p(2 * mass * scale_spread**2) + np.square(log_scale / scale_spread)
    price: Array = 0.5 * (place + scale).sum(-1)
    return price
