"""Rows that clearly belong to one Gaussian, found in single precision.

Most rows of a large table are far from any doubt: an estimate of the densities, with a bound on its
rounding error, tells their cluster. Only the others need the exact rule, which computes in double
precision. The labels are those of the exact rule, whatever the chunks.

The log-density of a Gaussian is linear in the products (1, z, z z^T) of a point (`gaussians.py`):
once these are computed, one matrix product gives the densities of all clusters. Where all
covariances are proportional, as those of spherical or tied components, (1, z, |z|^2) is enough.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.frames.protocol import Frame
from coterie.frames.standard import StandardColumns
from coterie.functional.canonical import FARTHEST, OUTLIER
from coterie.inference.assignment import chunks
from coterie.inference.rules.full_mixture import FullMixtureRule
from coterie.inference.rules.protocol import Rule
from coterie.mixtures.gaussians import LOG_TWO_PI, quadratic_form, upper_pairs

Single = NDArray[np.float32]
Double = NDArray[np.float64]

ROUND_OFF = float(np.finfo(np.float32).eps)
FINER = float(np.finfo(np.float64).eps) / ROUND_OFF  # the rounding of double precision
CERTAIN = 17.34  # log-odds against all other clusters: in float32 the probability rounds to one
MOST_SQUARE = 225.0  # a squared Mahalanobis distance: rows beyond are left to the exact rule
MOST_ERROR = 0.5  # of a whitened point and of a square: with more, as for tiny clusters, nothing
# is clear
PROPORTIONAL = 1e-12  # the relative difference of covariances that counts as rounding
CACHED = 393_216  # numbers at a time


class Screened(NamedTuple):
    """Labels of some rows (n,), which are right where they are clear (n,)."""

    labels: NDArray[np.intp]
    clear: NDArray[np.bool_]


class Assured(NamedTuple):
    """The same with the probability of each label (n,), right to the last bit where it is clear."""

    labels: NDArray[np.intp]
    confidence: Single
    clear: NDArray[np.bool_]


class _Block(NamedTuple):
    """Some rows: squares (K, m), the least of them (m,), and for which rows (m,) the bound holds.

    The squares are overwritten by those of the next block.
    """

    rows: slice
    squares: Single
    best: Single
    known: NDArray[np.bool_]


@dataclass(frozen=True)
class Screen:
    """K Gaussians in D coordinates of a table, as a quadratic form.

    form: (K, F), gives the squared Mahalanobis distance plus a constant of each cluster, the least
    of which is zero; base: (D, D), from the frame's axes to the coordinates; turning: (D, d + 1),
    to them from centred columns and a one; centre: (d,), and limit: (d, 1), beyond which the frame
    clips a row. point, square: bounds on the error of a whitened point and of a square; farthest:
    the largest square for which they hold; spread: of the constants.
    """

    frame: StandardColumns
    form: Double
    base: Double
    turning: Single
    centre: Double
    limit: Single
    point: float
    square: float
    farthest: float
    spread: float

    @classmethod
    def of(cls, frame: Frame, rule: Rule) -> "Screen | None":
        """The screen of a mixture in the standard frame; None for others, or where none holds."""
        if not isinstance(frame, StandardColumns) or not isinstance(rule, FullMixtureRule):
            return None
        weight, mean, whitening = (
            part.cpu().numpy() for part in (rule.log_weight, rule.mean, rule.whitening)
        )
        n_axes = mean.shape[1]
        if frame.axes.shape[1] < n_axes:
            return None
        # Within this many deviations of a cluster the frame does not clip a row.
        lengths = np.linalg.norm(np.linalg.inv(whitening), 2, axis=(1, 2))
        reach = float(((FARTHEST - abs(mean).max(1)) / lengths).min())
        # The exact rule reads points in float32.
        axes = frame.axes[:, :n_axes]
        point = _longest(whitening) * ROUND_OFF * _size(frame, axes)
        proportional = _are_proportional(whitening)
        base = whitening[0] if proportional else np.eye(n_axes)
        axes, mean, whitening = axes @ base.T, mean @ base.T, whitening @ np.linalg.inv(base)
        # Rows of float32 are centred in float32; what the centre loses there is in the shift.
        centre = frame.centre.astype(np.float32).astype(np.float64)
        middle = frame.middle + (frame.centre - centre) * frame.unit
        turning = np.hstack([axes.T * frame.unit, -(middle @ axes)[:, None]])
        with np.errstate(divide="ignore", over="ignore"):
            limit = (OUTLIER * (1 - 1e-5) / frame.unit).astype(np.float32)
            single: Single = turning.astype(np.float32)
        size = _size(frame, axes)
        point += (len(axes) + 4) * _longest(whitening) * ROUND_OFF * size
        if not (point <= MOST_ERROR and reach > point and np.isfinite(single).all()):
            return None
        constant, form = _forms(weight, mean, whitening, proportional=proportional)
        farthest = min(MOST_SQUARE, (reach - point) ** 2)
        lengths = np.linalg.norm(np.linalg.inv(whitening), 2, axis=(1, 2))
        for _ in range(5):  # the error is smaller where rows are near a cluster, which it bounds
            square = _square_error(form, n_axes, size)
            near = np.linalg.norm(mean, axis=1) + lengths * (math.sqrt(farthest + square) + point)
            size = min(size, float(near.max()))
        if not (square <= MOST_ERROR and square < farthest):
            return None
        return cls(
            frame,
            form,
            base,
            single,
            centre,
            limit[:, None],
            point,
            square,
            farthest - square,
            float(np.ptp(constant)),
        )

    def __call__(self, table: NDArray) -> Screened:
        """The clusters of a table (n, d)."""
        labels, clear = np.empty(len(table), dtype=np.intp), np.empty(len(table), dtype=bool)
        margin = self._margin()
        for block in self._blocks(table):
            labels[block.rows], single = _closest(block.squares, block.best + margin)
            clear[block.rows] = single & block.known
        return Screened(labels, clear)

    def assign(self, table: NDArray) -> Assured:
        """The clusters of a table (n, d), and how probable they are.

        Where all other clusters are negligible the probability is one. For the other rows whose
        cluster is clear it is computed in double precision.
        """
        labels, clear = np.empty(len(table), dtype=np.intp), np.empty(len(table), dtype=bool)
        confidence = np.ones(len(table), dtype=np.float32)
        margin, certain = self._margin(), self._margin(CERTAIN + math.log(len(self.form)))
        for block in self._blocks(table):
            labels[block.rows], single = _closest(block.squares, block.best + certain)
            clear[block.rows] = single & block.known
            doubtful = np.flatnonzero(~clear[block.rows])
            if not len(doubtful):
                continue
            squares, best = block.squares.take(doubtful, 1), block.best.take(doubtful)
            which, single = _closest(squares, best + margin)
            at = block.rows.start + doubtful
            labels[at] = which
            found, exact = self._confidence(table[block.rows].T.take(doubtful, 1))
            confidence[at] = found
            clear[at] = single & block.known[doubtful] & exact
        return Assured(labels, confidence, clear)

    def _blocks(self, table: NDArray) -> Iterator[_Block]:
        """The squares, block by block, so that they stay in the cache."""
        (n_clusters, n_products), (n_axes, width) = self.form.shape, self.turning.shape
        size = max(CACHED // (width + n_products + n_clusters), 1)
        size = min(size, len(table))
        form = self.form.astype(np.float32)
        columns = np.ones((width, size), dtype=np.float32)
        products = np.ones((n_products, size), dtype=np.float32)
        squares = np.empty((n_clusters, size), dtype=np.float32)
        # Of other types, differences are computed in float64.
        kind = table.dtype if table.dtype == np.float32 else np.dtype(np.float64)
        centre = self.centre.astype(kind)[:, None]
        for rows in chunks(len(table), size):
            part = table[rows].T
            m = part.shape[1]
            centred, own, found = columns[:-1, :m], products[:, :m], squares[:, :m]
            np.subtract(part, centre, out=centred, dtype=kind, casting="same_kind")
            inside = _within(centred, self.limit)
            np.matmul(self.turning, columns[:, :m], out=own[1 : 1 + n_axes])
            _multiply(own, n_axes)
            np.matmul(form, own, out=found)
            best = found.min(0)
            inside &= best <= self.farthest
            yield _Block(rows, found, best, inside)

    def _confidence(self, columns: NDArray) -> tuple[Single, NDArray[np.bool_]]:
        """The largest probability of rows (d, m) that no frame clips, and whether it is exact (m,).

        It is exact if the bound on its rounding error leaves one number of single precision.
        """
        frame, n_axes = self.frame, len(self.turning)
        centred = (columns - frame.centre[:, None]) * frame.unit[:, None] - frame.middle[:, None]
        products = np.ones((self.form.shape[1], columns.shape[1]))
        # The exact rule reads points in single precision.
        points = (frame.axes.T[:n_axes] @ centred).astype(np.float32)
        products[1 : 1 + n_axes] = self.base @ points
        _multiply(products, n_axes)
        squares = self.form @ products
        squares -= squares.min(0)
        squares *= -0.5
        found = 1 / np.exp(squares, out=squares).sum(0)
        error = 8 * self.square * FINER + 4 * PROPORTIONAL * self.farthest
        error = 1e-15 + error * (1 - found)
        lower, upper = (found * (1 + side * error) for side in (-1, 1))
        nearest = found.astype(np.float32)
        return nearest, lower.astype(np.float32) == upper.astype(np.float32)

    def _margin(self, log_odds: float = 0.0) -> np.float32:
        """By how much the next square must exceed the least, in the worst case of rounding."""
        margin = least = 2 * log_odds + 2 * self.square + 1e-2
        for _ in range(20):
            reach = math.sqrt(margin + self.farthest + self.spread) + math.sqrt(self.farthest)
            margin = least + self.point**2 + 2 * self.point * reach
        return np.float32(margin)


def _within(centred: Single, limit: Single) -> NDArray[np.bool_]:
    """Which rows (d, m) are within the limit (d, 1), not NaN: (m,)."""
    if (centred.max(1) <= limit[:, 0]).all() and (centred.min(1) >= -limit[:, 0]).all():
        return np.ones(centred.shape[1], dtype=np.bool_)
    inside: NDArray[np.bool_] = np.logical_and.reduce(abs(centred) <= limit, axis=0)
    return inside


def _multiply(products: NDArray, n_axes: int) -> None:
    """Fill in the products (F, m) of two coordinates, given those of one."""
    points, at = products[1 : 1 + n_axes], 1 + n_axes
    if len(products) == at + 1:
        np.add.reduce(points * points, 0, out=products[at])
        return
    for axis in range(n_axes):
        n_more = n_axes - axis
        np.multiply(points[axis], points[axis:], out=products[at : at + n_more])
        at += n_more


def _closest(squares: Single, most: Single) -> tuple[NDArray, NDArray[np.bool_]]:
    """A cluster (m,) with a square (K, m) of at most (m,), and whether it is the only one (m,)."""
    kind = np.uint8 if len(squares) < 256 else np.uint32
    close: NDArray = (squares <= most).view(np.uint8).astype(kind, copy=False)
    single = np.add.reduce(close, 0, dtype=kind) == 1
    np.multiply(close, np.arange(len(squares), dtype=kind)[:, None], out=close)
    return np.add.reduce(close, 0, dtype=kind), single  # the sum of one number


def _are_proportional(whitening: Double) -> bool:
    """Whether the covariances that are whitened so (K, D, D) differ by factors alone."""
    turned = whitening @ np.linalg.inv(whitening[0])
    factors = turned[:, :1, :1]
    rest = abs(turned / factors - np.eye(turned.shape[1])).sum(2).max()
    return bool(rest <= PROPORTIONAL / 4)


def _forms(
    log_weight: Double, mean: Double, whitening: Double, *, proportional: bool
) -> tuple[Double, Double]:
    """The constant of each cluster (K,), and the form (K, F) of its square and constant."""
    n_axes = mean.shape[1]
    log_det = np.log(np.diagonal(whitening, axis1=1, axis2=2)).sum(1)
    constant = -2 * (log_weight + log_det) + n_axes * LOG_TWO_PI
    form = -2 * quadratic_form(log_weight, mean, whitening)
    form[:, 0] -= constant.min()
    if proportional:  # z z^T has the same factor everywhere on its diagonal
        form = form[:, : n_axes + 2]
    return constant, form


def _longest(whitening: Double) -> float:
    """The most by which whitening (K, D, D) makes a vector longer."""
    return float(np.linalg.norm(whitening, 2, axis=(1, 2)).max())


def _size(frame: StandardColumns, axes: Double) -> float:
    """The largest norm of a point along axes (d, D)."""
    most = OUTLIER * math.sqrt(len(axes)) + float(np.linalg.norm(frame.middle))
    return float(np.linalg.norm(axes)) * most


def _square_error(form: Double, n_axes: int, size: float) -> float:
    """The largest rounding error of a square, as the form (K, F) of a point of at most this norm.

    A product of coordinates and a coefficient are rounded once, a sum as often as it has terms.
    """
    first, second = abs(form[:, 1 : 1 + n_axes]), abs(form[:, 1 + n_axes :])
    factor = second[:, 0]
    if second.shape[1] > 1:
        upper = np.zeros((len(form), n_axes, n_axes))
        upper[:, *upper_pairs(n_axes)] = second
        factor = np.linalg.norm((upper + upper.transpose(0, 2, 1)) / 2, 2, axis=(1, 2))
    total = abs(form[:, 0]) + np.linalg.norm(first, axis=1) * size + factor * size**2
    return float((form.shape[1] + n_axes + 3) * ROUND_OFF * total.max())
