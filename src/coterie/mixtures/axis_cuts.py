"""Find the components of a mixture that cover two clusters, and cut them.

The points of a component are projected onto directions along which two clusters may be separated:
its principal axes; the axes along which it is widest relative to the other clusters; and those
along which its tails are lightest and heaviest (fourth-order blind identification, Cardoso 1989).
The best cuts of these projections are refined by EM with two components on the component's own
points, all cuts side by side, and scored by the change in evidence.

Shapes: N points in D columns, K components, C cuts, F products, as in `mixtures/gaussians.py`.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from coterie.mixtures.covariances import Frame, common, common_covariance, log_evidence, with_reach
from coterie.mixtures.gaussians import Array, Moments, expectation, form_of, moments_of_sums
from coterie.mixtures.shared_fit import Cloud, SharedFit, mixture_of

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


class _Whole(NamedTuple):
    """A component that may be cut: its points (n,), their places (n, D) about their mean."""

    component: int
    own: NDArray[np.intp]
    centred: Array


def best_cuts(cloud: Cloud, fit: SharedFit, *, steps: int = 6) -> list[Cut]:
    """The best cut of each component that can be cut, sorted by decreasing gain."""
    frame = with_reach(cloud.frame, fit.parts)
    wholes = _wholes(cloud, fit, frame)
    if not wholes:
        return []
    across = [_projections(each.centred, fit.base.covariance) for each in wholes]
    sides = [
        _best_side(each, one_variance=one_variance).side
        for one_variance in (False, True)
        for each in across
    ]
    found = _settled(cloud, fit, frame, [*wholes, *wholes], sides, steps)
    pairs = zip(found[: len(wholes)], found[len(wholes) :], strict=True)
    best = [max(pair, key=lambda cut: cut.gain) for pair in pairs]
    kept = [cut for cut in best if cut.gain > -math.inf]
    return sorted(kept, key=lambda cut: -cut.gain)


def planes(cloud: Cloud, fit: SharedFit) -> list[Cut]:
    """A cut of each component in two halves of one variance, sorted by decreasing gain.

    The halves are the sides of a plane: EM with the covariances of the other components, should
    these cover two clusters each as well, would undo the cut. The gain is that of the projection.
    """
    cuts = []
    for component, own, centred in _wholes(cloud, fit, with_reach(cloud.frame, fit.parts)):
        across = _projections(centred, fit.base.covariance)
        side, gain = _best_side(across, one_variance=True)
        cuts.append(Cut(gain, component, own, _halves(side)))
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


def _wholes(cloud: Cloud, fit: SharedFit, frame: Frame) -> list[_Whole]:
    """The components whose points are enough, and different enough, to be cut."""
    labels = fit.responsibilities.argmax(0)
    wholes = []
    for component in range(fit.n_clusters):
        own = np.flatnonzero(labels == component)
        if len(own) < 2 * FEWEST:
            continue
        points = cloud.points[own]
        centred = points - points.mean(0)
        if (np.square(centred).mean(0) > frame.floor).any():
            wholes.append(_Whole(component, own, centred))
    return wholes


def _halves(side: NDArray[np.bool_]) -> Array:
    """The sides of a plane (n,) as the shares of two halves: (2, n)."""
    return np.stack([side, ~side]).astype(np.float64)


def _settled(
    cloud: Cloud,
    fit: SharedFit,
    frame: Frame,
    wholes: list[_Whole],
    sides: list[NDArray[np.bool_]],
    steps: int,
) -> list[Cut]:
    """C cuts after EM, one for each of these sides; the gain is minus infinity if a half is lost.

    The common covariance is updated with the halves, because one component that covers two clusters
    makes it too wide. Each cut is alone in this, and they only share the time of a step.
    """
    d, k = cloud.points.shape[1], fit.n_clusters
    rows = [cloud.rows[:, each.own] for each in wholes]
    shares = np.concatenate([_halves(side) for side in sides], 1)  # (2, n of all)
    first = np.cumsum([0, *(len(side) for side in sides[:-1])])
    views = np.split(shares, first[1:], 1)
    others = fit.parts.take(np.stack([np.delete(np.arange(k), each.component) for each in wholes]))
    whole = moments_of_sums(np.stack([each.sum(1) for each in rows])[:, None], d)
    parts = _moments(rows, views, d)
    for _ in range(steps):
        base = common_covariance(_together(others, parts), frame)
        forms = form_of(mixture_of(parts, base, fit.strength, frame))
        for form, own, view in zip(forms, rows, views, strict=True):
            np.matmul(form, own, out=view)
        expectation(shares)  # in place
        parts = _moments(rows, views, d)
    before = _evidence(others, whole, fit.strength, frame)
    # The change in the evidence of the weights from k to k + 1 components.
    before -= math.log(k * (k + 1)) - math.log(frame.n_points + k)
    entropies = -np.add.reduceat(xlogy(shares, shares).sum(0), first)
    gains = _evidence(others, parts, fit.strength, frame) + entropies - before
    gains[parts.mass.min(1) < FEWEST] = -np.inf
    return [
        Cut(float(gain), each.component, each.own, view)
        for gain, each, view in zip(gains, wholes, views, strict=True)
    ]


def _moments(rows: list[Array], shares: list[Array], d: int) -> Moments:
    """The moments of the halves of C components: their products (F, n) and shares (2, n)."""
    sums = [share @ own.T for share, own in zip(shares, rows, strict=True)]
    return moments_of_sums(np.stack(sums), d)


def _together(some: Moments, others: Moments) -> Moments:
    return Moments(*(np.concatenate(both, 1) for both in zip(some, others, strict=True)))


def _evidence(others: Moments, parts: Moments, strength: float, frame: Frame) -> Array:
    """Log-evidence of all components (C,), up to terms that do not depend on the given parts."""
    everything = _together(others, parts)
    base = common(everything, frame)
    evidence = log_evidence(everything, base.covariance, strength, frame).sum(1) - base.cost
    found: Array = evidence + gammaln(parts.mass + 1).sum(1)
    return found


class _Projections(NamedTuple):
    """Points projected onto M directions.

    order (n, M): along each; below, above (n - 1, M): the scatter of the first and of the other
    points, after each number of points, in units of the variance.
    """

    order: NDArray[np.intp]
    below: Array
    above: Array


class _Side(NamedTuple):
    """The points on one side of a plane (n,), and what two Gaussians gain over one, in nats."""

    side: NDArray[np.bool_]
    gain: float


def _projections(centred: Array, base: Array) -> _Projections:
    """Points (n, D) projected onto the directions along which they may form two clusters."""
    n_points = len(centred)
    along = centred @ _directions(centred, base)  # (n, M)
    spread = along.std(0)
    flat = spread <= FLAT * np.abs(along).max(0)  # but for round-off, which must not be magnified
    along = np.where(flat, 0.0, along) / np.where(flat, 1.0, spread)
    order = along.argsort(0, kind="stable")
    values = np.take_along_axis(along, order, 0)
    sums, squares = values.cumsum(0), np.square(values).cumsum(0)
    (*_, total), (*_, whole) = sums, squares
    sums, squares = sums[:-1], squares[:-1]
    below = np.arange(1.0, n_points)[:, None]
    return _Projections(
        order,
        np.maximum(squares - np.square(sums) / below, 0),
        np.maximum(whole - squares - np.square(total - sums) / (n_points - below), 0),
    )


def _best_side(across: _Projections, *, one_variance: bool) -> _Side:
    """The best plane across a direction along which points may form two clusters.

    Halves with a variance each also find small dense clusters, and take outliers for one; halves of
    one variance find clusters of similar sizes.
    """
    order, scatter_below, scatter_above = across
    n_points = len(order)
    below = np.arange(1.0, n_points)[:, None]
    above = n_points - below
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
