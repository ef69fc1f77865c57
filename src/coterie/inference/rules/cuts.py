"""Choose where to cut a cluster in two.

A cut is a plane orthogonal to one of the principal axes of a cluster's points. It is placed where
two Gaussians along that axis fit the points better than one; if there is no such place, where it
reduces the within-cluster scatter most.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from coterie.mixtures.em import Array

SHARP = 1e18  # the slope of a cut without a smooth transition
FLAT = 1e-12  # relative to the variance along the first axis; smaller variances are round-off
SAME = 1e-9  # relative to the extent of the cluster; closer positions count as equal


@dataclass(frozen=True)
class Cut:
    """A plane through a cluster, and the slope of the log-odds across it."""

    cluster: int
    centre: tuple[float, ...]  # (D,)
    axis: tuple[float, ...]  # (D,); along it the cluster lies within -1 and 1
    threshold: float
    slope: float

    def along(self, points: Tensor) -> Tensor:
        """Positions of points along the axis, (M, D) -> (M,)."""
        # Column by column: the rounding of a matrix product depends on the chunk size.
        place = points.new_zeros(len(points), dtype=torch.float64)
        for column, centre, share in zip(points.double().T, self.centre, self.axis, strict=True):
            place = place + share * (column - centre)
        return place

    def log_odds(self, points: Tensor) -> Tensor:
        """Log-odds of the far side against the near one: (M, D) -> (M,)."""
        return self.slope * (self.along(points) - self.threshold)


class Offer(NamedTuple):
    """A candidate cut.

    pays: whether the gain in likelihood exceeds the penalty for the parameters; worth: that gain if
    it pays, otherwise the reduction of the scatter.
    """

    pays: bool
    worth: float
    cut: Cut


def best_cut(points: Tensor, cluster: int, min_size: int = 1) -> Offer | None:
    """The best cut through the points (n, D) of a cluster; None if no cut is possible.

    Over all axes and positions, this is the cut with the highest gain in likelihood, if the gain
    justifies three more parameters (BIC); otherwise the one that reduces the scatter most.
    """
    if len(points) < 2 * min_size:
        return None
    places = points.double().numpy()
    mean = places.mean(0)
    offers = []
    for axis in _axes(places - mean):
        reach = abs((places - mean) @ axis).max()
        cut = Cut(cluster, tuple(mean.tolist()), tuple((axis / reach).tolist()), 0.0, 0.0)
        offers += _offers(points, cut, min_size, reach)
    return max(offers, key=lambda offer: (offer.pays, offer.worth), default=None)


def _axes(centred: Array) -> Array:
    """The principal axes (m, D) along which points (n, D) vary, the widest first."""
    variance, axes = np.linalg.eigh(centred.T @ centred)
    seen = (variance > FLAT * variance[-1]) & (variance > 0)
    axes = axes[:, seen].T[::-1]
    largest = np.take_along_axis(axes, abs(axes).argmax(1)[:, None], 1)
    return axes * np.sign(largest)


def _offers(points: Tensor, cut: Cut, min_size: int, reach: float) -> list[Offer]:
    """The cuts across an axis with the highest likelihood and the lowest scatter, if possible.

    reach: the length of the unit along the axis.
    """
    place = np.sort(cut.along(points).numpy())
    n = len(place)
    near = np.arange(1, n)  # points on the near side, for each of n - 1 positions of the plane
    possible = (np.diff(place) > SAME) & (np.minimum(near, n - near) >= min_size)
    if not possible.any():
        return []
    variance = place.var()
    mean, within = _sides(place)  # (2, n - 1) each
    sizes = np.stack([near, n - near])
    # A pseudo-point on each side keeps the likelihood of coinciding points finite.
    spread = (within + variance) / (sizes + 1)
    gain = (sizes * (np.log(sizes / n) - 0.5 * np.log(spread / variance))).sum(0)
    lowered = near * (n - near) / n * np.square(mean[1] - mean[0])
    likeliest = int(np.where(possible, gain, -np.inf).argmax())
    tightest = int(np.where(possible, lowered, -np.inf).argmax())

    def offer(at: int, pays: bool, worth: float) -> Offer:
        threshold = 0.5 * (place[at] + place[at + 1])
        pooled = max(within[:, at].sum() / n, float(variance) / SHARP)
        slope = min((mean[1, at] - mean[0, at]) / pooled, SHARP)
        return Offer(pays, worth, replace(cut, threshold=float(threshold), slope=float(slope)))

    offers = [offer(tightest, False, float(lowered[tightest] * reach**2))]
    if gain[likeliest] > 1.5 * math.log(n):
        offers.append(offer(likeliest, True, float(gain[likeliest])))
    return offers


def _sides(place: Array) -> tuple[Array, Array]:
    """Mean and scatter on each side of every plane between sorted positions (n,): (2, n - 1)."""
    n = len(place)
    near = np.arange(1, n)
    sums, squares = place.cumsum(), np.square(place).cumsum()
    size = np.stack([near, n - near])
    total = np.stack([sums[:-1], sums[-1] - sums[:-1]])
    square = np.stack([squares[:-1], squares[-1] - squares[:-1]])
    mean = total / size
    return mean, np.maximum(square - total * mean, 0.0)
