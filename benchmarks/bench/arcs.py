"""The true density of warped Gaussians (DAC, eq. 16), and with it the oracle of a set.

A point of a cluster is x(r, e) = (a cos r, b sin r) + t e n(r), turned and shifted: r ~ N(m, s^2)
goes along the ellipse, e ~ N(0, 1) across it, n is the unit normal and t the thickness. With
l = |(-a sin r, b cos r)|, the Jacobian is t |l + t e a b / l^2|. A point has up to four feet (r, e)
on an ellipse, and its density is the sum over them.
"""

import math

import numpy as np
from numpy.typing import NDArray

from bench.sets import Oracle
from coterie.data.priors.warped import Arcs

Floats = NDArray[np.float64]
GRID = 2048  # angles between which the tangential offset changes its sign at most once
HALVINGS = 40  # of such an interval
LEAST = 1e-300


def consult_arcs(points: NDArray[np.float32], arcs: Arcs, thickness: float) -> Oracle:
    """The oracle of one set: points (n, 2) and the true arcs (K,), with the weights as drawn."""
    joint = [
        log_weight + log_density(points.astype(np.float64), arc, thickness)
        for log_weight, *arc in zip(*(part.double().numpy() for part in arcs), strict=True)
        if np.isfinite(log_weight)
    ]
    log_joint = np.stack(joint, 1)
    log_likelihood = np.logaddexp.reduce(log_joint, 1)
    return Oracle(log_joint.argmax(1), float(log_likelihood.mean()))


def log_density(points: Floats, arc: list[Floats], thickness: float) -> Floats:
    """Log-density of points (n, 2) under one arc: middle, spread, half-axes, turn and shift."""
    middle, spread, (a, b), turn, shift = arc
    cos, sin = np.cos(turn), np.sin(turn)
    around = (points - shift) @ np.array([[cos, -sin], [sin, cos]])  # turned back
    point, r = _feet(around, a, b)
    length = np.hypot(a * np.sin(r), b * np.cos(r))
    normal = np.stack([b * np.cos(r), a * np.sin(r)], 1) / length[:, None]
    offset = around[point] - np.stack([a * np.cos(r), b * np.sin(r)], 1)
    across = (offset * normal).sum(1) / thickness
    jacobian = thickness * np.abs(length + thickness * across * a * b / length**2)
    density = _wrapped_normal(r - middle, spread) * np.exp(-0.5 * across**2) / jacobian
    total = np.zeros(len(points))
    np.add.at(total, point, density / math.sqrt(2 * math.pi))
    return np.log(np.maximum(total, LEAST))


def _feet(points: Floats, a: float, b: float) -> tuple[NDArray[np.intp], Floats]:
    """Where the offset from the ellipse is normal to it: the points (f,) and the angles (f,)."""

    def along(r: Floats, x: Floats, y: Floats) -> Floats:
        """The offset of (x, y) from the ellipse at r, times the tangent."""
        return -a * x * np.sin(r) + b * y * np.cos(r) + (a * a - b * b) * np.sin(r) * np.cos(r)

    angles = np.linspace(0.0, 2 * math.pi, GRID + 1)
    positive = along(angles, points[:, :1], points[:, 1:]) > 0  # (n, GRID + 1)
    point, start = np.nonzero(positive[:, :-1] != positive[:, 1:])
    low, high, sign = angles[start], angles[start + 1], positive[point, start]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        before = (along(middle, *points[point].T) > 0) == sign
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return point, (low + high) / 2


def _wrapped_normal(apart: Floats, spread: Floats) -> Floats:
    """The density of an angle that may go round several times."""
    nearest = (apart + math.pi) % (2 * math.pi) - math.pi
    rounds = 2 * math.pi * np.arange(-3, 4)[:, None]
    squares = ((nearest + rounds) / spread) ** 2
    density: Floats = np.exp(-0.5 * squares).sum(0) / (spread * math.sqrt(2 * math.pi))
    return density
