"""Find the components of a mixture that cover two clusters, and cut them.

The points of a component are projected onto directions along which two clusters may be separated:
its principal axes; the axes along which it is widest relative to the other clusters; and those
along which its tails are lightest and heaviest (fourth-order blind identification, Cardoso 1989).
The best cuts of these projections are refined by EM with two components on the component's own
points, and scored by the change in evidence.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from coterie.mixtures.covariances import Frame, common, log_evidence, with_reach
from coterie.mixtures.gaussians import Array, Moments, expectation, log_joint, moments
from coterie.mixtures.shared_fit import Cloud, SharedFit, entropy, mixture_of

FEWEST = 4  # points in a half
PRINCIPAL, WIDEST, TAILS = 6, 3, 2
CUTS = 2
# Added, relative to the projection's variance, so that a few equal values are not a cluster.
NARROW = 1e-3
FLAT = 1e-8


class Cut(NamedTuple):
    """A component cut in two: the gain in log-evidence, its points (n,), their shares (2, n)."""

    gain: float
    component: int
    own: NDArray[np.intp]
    shares: Array


def best_cuts(cloud: Cloud, fit: SharedFit, *, steps: int = 6) -> list[Cut]:
    """The best cut of each component that can be cut, sorted by decreasing gain."""
    frame = with_reach(cloud.frame, fit.parts)
    labels = fit.responsibilities.argmax(0)
    cuts = []
    for component in range(fit.n_clusters):
        own = np.flatnonzero(labels == component)
        wide = (cloud.points[own].var(0) > frame.floor).any() if len(own) >= 2 * FEWEST else False
        if wide:
            cuts += _settled(cloud, fit, frame, component, own, steps)
    return sorted(cuts, key=lambda cut: -cut.gain)


def with_cuts(fit: SharedFit, cuts: list[Cut]) -> Array:
    """The responsibilities (K + cuts, N) with components cut in two."""
    responsibilities = fit.responsibilities.copy()
    second = []
    for cut in cuts:
        whole = responsibilities[cut.component]
        share = np.full(
            len(whole), 0.5
        )  # points of other components are split equally until the next E-step
        share[cut.own] = cut.shares[0]
        second.append(whole * (1 - share))
        responsibilities[cut.component] = whole * share
    return np.concatenate([responsibilities, *(each[None] for each in second)])


def _settled(
    cloud: Cloud, fit: SharedFit, frame: Frame, component: int, own: NDArray[np.intp], steps: int
) -> list[Cut]:
    """The best cut of one component, given its points (n,); none if every cut loses a half.

    The common covariance is updated with the halves, because one component that covers two clusters
    makes it too wide.
    """
    points, rows = cloud.points[own], cloud.rows[:, own]
    d, k = points.shape[1], fit.n_clusters
    others = fit.parts.take(np.delete(np.arange(k), component))
    whole = moments(rows, np.ones((1, len(own))), d)
    before = _evidence(others, whole, fit.strength, frame)
    # The change in the evidence of the weights from k to k + 1 components.
    before -= math.log(k * (k + 1)) - math.log(frame.n_points + k)
    found = []
    for side in _sides(points - whole.mean[0], fit.base.covariance):
        parts = moments(rows, np.stack([side, ~side]).astype(np.float64), d)
        for _ in range(steps):
            base = common(_together(others, parts), frame)
            halves = mixture_of(parts, base, fit.strength, frame)
            shares = expectation(log_joint(rows, halves)).responsibilities
            parts = moments(rows, shares, d)
        if parts.mass.min() >= FEWEST:
            after = _evidence(others, parts, fit.strength, frame) + entropy(shares)
            found.append(Cut(after - before, component, own, shares))
    return [max(found, key=lambda cut: cut.gain)] if found else []


def _together(some: Moments, others: Moments) -> Moments:
    return Moments(*(np.concatenate(both) for both in zip(some, others, strict=True)))


def _evidence(others: Moments, parts: Moments, strength: float, frame: Frame) -> float:
    """Log-evidence of all components, up to terms that do not depend on the given parts."""
    everything = _together(others, parts)
    base = common(everything, frame)
    evidence = log_evidence(everything, base.covariance, strength, frame).sum() - base.cost
    return float(evidence + gammaln(parts.mass + 1).sum())


def _sides(centred: Array, base: Array) -> list[NDArray[np.bool_]]:
    """The CUTS most promising ways to cut points (n, D) across a direction: masks (n,)."""
    n_points = len(centred)
    along = centred @ _directions(centred, base)  # (n, M)
    along /= np.maximum(along.std(0), np.finfo(np.float64).tiny)
    order = along.argsort(0, kind="stable")
    values = np.take_along_axis(along, order, 0)
    sums, squares = values.cumsum(0)[:-1], np.square(values).cumsum(0)[:-1]
    below = np.arange(1.0, n_points)[:, None]
    above = n_points - below
    spread_below = np.maximum(squares / below - np.square(sums / below), 0) + NARROW
    rest = np.square(values).sum(0) - squares, values.sum(0) - sums
    spread_above = np.maximum(rest[0] / above - np.square(rest[1] / above), 0) + NARROW
    gain = -below * np.log(spread_below) - above * np.log(spread_above)
    gain += 2 * (below * np.log(below / n_points) + above * np.log(above / n_points))
    allowed = gain[FEWEST - 1 : n_points - FEWEST]
    at = allowed.argmax(0)
    best = np.argsort(-allowed.max(0), kind="stable")[:CUTS]
    sides = []
    for number in best:
        side = np.zeros(n_points, dtype=np.bool_)
        side[order[: at[number] + FEWEST, number]] = True
        sides.append(side)
    return sides


def _directions(centred: Array, base: Array) -> Array:
    """Directions (D, M) along which points (n, D) may form two clusters."""
    covariance = centred.T @ centred / len(centred)
    variance, axes = np.linalg.eigh(covariance)
    whitening = np.linalg.inv(np.linalg.cholesky(base))
    _, widest = np.linalg.eigh(whitening @ covariance @ whitening.T)
    seen = variance > FLAT * variance[-1]
    if not seen.any():
        return axes[:, -1:]
    sphere = axes[:, seen] / np.sqrt(variance[seen])
    z = centred @ sphere
    _, by_tail = np.linalg.eigh((z * np.square(z).sum(1)[:, None]).T @ z)
    tails = sphere @ by_tail
    picked = np.unique(
        np.r_[: min(TAILS, tails.shape[1]), max(tails.shape[1] - TAILS, 0) : tails.shape[1]]
    )
    return np.concatenate(
        [axes[:, ::-1][:, :PRINCIPAL], whitening.T @ widest[:, ::-1][:, :WIDEST], tails[:, picked]],
        1,
    )
