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

from coterie.mixtures.covariances import Frame, common, common_covariance, log_evidence, with_reach
from coterie.mixtures.gaussians import Array, Moments, expectation, log_joint, moments
from coterie.mixtures.shared_fit import Cloud, SharedFit, entropy, mixture_of

FEWEST = 4  # points in a half
PRINCIPAL, WIDEST, TAILS = 6, 3, 2
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
        if _is_wide(cloud.points[own], frame):
            cuts += _settled(cloud, fit, frame, component, own, steps)
    return sorted(cuts, key=lambda cut: -cut.gain)


def planes(cloud: Cloud, fit: SharedFit) -> list[Cut]:
    """A cut of each component in two halves of one variance, sorted by decreasing gain.

    The halves are the sides of a plane: EM with the covariances of the other components, should
    these cover two clusters each as well, would undo the cut. The gain is that of the projection.
    """
    frame = with_reach(cloud.frame, fit.parts)
    labels = fit.responsibilities.argmax(0)
    cuts = []
    for component in range(fit.n_clusters):
        own = np.flatnonzero(labels == component)
        if _is_wide(cloud.points[own], frame):
            points = cloud.points[own]
            cut = _cut_across(points - points.mean(0), fit.base.covariance, one_variance=True)
            shares = np.stack([cut.side, ~cut.side]).astype(np.float64)
            cuts.append(Cut(cut.gain, component, own, shares))
    return sorted(cuts, key=lambda cut: -cut.gain)


def with_cuts(fit: SharedFit, cuts: list[Cut]) -> Array:
    """The responsibilities (K + cuts, N) with components cut in two."""
    responsibilities = fit.responsibilities.copy()
    second = []
    for cut in cuts:
        whole = responsibilities[cut.component]
        # Points of other components are split equally until the next E-step.
        share = np.full(len(whole), 0.5)
        share[cut.own] = cut.shares[0]
        second.append(whole * (1 - share))
        responsibilities[cut.component] = whole * share
    return np.concatenate([responsibilities, *(each[None] for each in second)])


def _is_wide(points: Array, frame: Frame) -> bool:
    """Whether points (n, D) are enough, and different enough, to be cut."""
    return len(points) >= 2 * FEWEST and bool((points.var(0) > frame.floor).any())


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
    centred = points - whole.mean[0]
    for one_variance in (False, True):
        side = _cut_across(centred, fit.base.covariance, one_variance=one_variance).side
        parts = moments(rows, np.stack([side, ~side]).astype(np.float64), d)
        for _ in range(steps):
            base = common_covariance(_together(others, parts), frame)
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


class _Side(NamedTuple):
    """The points on one side of a plane (n,), and what two Gaussians gain over one, in nats."""

    side: NDArray[np.bool_]
    gain: float


def _cut_across(centred: Array, base: Array, *, one_variance: bool) -> _Side:
    """The best plane across a direction in which points (n, D) may form two clusters.

    Halves with a variance each also find small dense clusters, and take outliers for one; halves of
    one variance find clusters of similar sizes.
    """
    n_points = len(centred)
    along = centred @ _directions(centred, base)  # (n, M)
    spread = along.std(0)
    flat = spread <= FLAT * np.abs(along).max(0)  # but for round-off, which must not be magnified
    along = np.where(flat, 0.0, along) / np.where(flat, 1.0, spread)
    order = along.argsort(0, kind="stable")
    values = np.take_along_axis(along, order, 0)
    sums, squares = values.cumsum(0)[:-1], np.square(values).cumsum(0)[:-1]
    below = np.arange(1.0, n_points)[:, None]
    above = n_points - below
    scatter_below = np.maximum(squares - np.square(sums) / below, 0)
    rest = np.square(values).sum(0) - squares, values.sum(0) - sums
    scatter_above = np.maximum(rest[0] - np.square(rest[1]) / above, 0)
    if one_variance:
        gain = -n_points * np.log((scatter_below + scatter_above) / n_points + NARROW)
    else:
        gain = -below * np.log(scatter_below / below + NARROW)
        gain -= above * np.log(scatter_above / above + NARROW)
    gain += 2 * (below * np.log(below / n_points) + above * np.log(above / n_points))
    allowed = gain[FEWEST - 1 : n_points - FEWEST]
    at, number = np.unravel_index(allowed.argmax(), allowed.shape)
    side = np.zeros(n_points, dtype=np.bool_)
    side[order[: at + FEWEST, number]] = True
    return _Side(side, float(allowed[at, number]) / 2)


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
