"""Rows that clearly belong to one Gaussian, found in single precision.

Most rows of a large table are far from any doubt: an estimate of the densities, with a bound on its
rounding error, tells their cluster. Only the others need the exact rule, which computes in double
precision. The labels are those of the exact rule, whatever the chunks.
"""

import math
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

Single = NDArray[np.float32]

ROUND_OFF = float(np.finfo(np.float32).eps)
CERTAIN = 18.0  # log-odds against all other clusters: in float32 the probability rounds to one
MOST_SQUARE = 400.0  # a squared Mahalanobis distance: rows beyond are left to the exact rule
MOST_ERROR = 0.5  # of a whitened point: with more, as for tiny clusters, nothing is clear
CACHED = 524_288  # whitened coordinates at a time


class Screened(NamedTuple):
    """Labels of some rows (n,), which are right where they are clear (n,)."""

    labels: NDArray[np.intp]
    clear: NDArray[np.bool_]


@dataclass(frozen=True)
class Screen:
    """K Gaussians in the columns of a table, as one affine map of these to whitened coordinates.

    centre, unit: (d,); whitening: (K D, d) and shift (K D, 1), for standardised columns; constant:
    (K, 1), added to squared distances; error: a bound on that of a whitened point; farthest: the
    largest square for which the bound holds.
    """

    centre: NDArray[np.float64]
    unit: Single
    whitening: Single
    shift: Single
    constant: Single
    error: float
    farthest: float

    @classmethod
    def of(cls, frame: Frame, rule: Rule) -> "Screen | None":
        """The screen of a mixture in the standard frame; None for others, or where none holds."""
        if not isinstance(frame, StandardColumns) or not isinstance(rule, FullMixtureRule):
            return None
        mean, whitening = rule.mean.cpu().numpy(), rule.whitening.cpu().numpy()
        width = mean.shape[1]
        if frame.axes.shape[1] < width:
            return None
        axes = frame.axes[:, :width]
        # Rows of float32 are centred in float32; what the centre loses there is in the shift.
        centre = frame.centre.astype(np.float32).astype(np.float64)
        middle = frame.middle + (frame.centre - centre) * frame.unit
        turned = whitening @ axes.T  # (K, D, d)
        shift = (whitening @ (middle @ axes + mean)[..., None])[..., 0]  # (K, D)
        error = _error(frame, axes, whitening, turned, shift)
        # Within this many deviations of a cluster the frame does not clip a row.
        lengths = np.linalg.norm(np.linalg.inv(whitening), 2, axis=(1, 2))
        reach = ((FARTHEST - abs(mean).max(1)) / lengths).min()
        if not (error <= MOST_ERROR and reach > 0):
            return None
        constant = -2 * rule.log_constant.cpu().numpy()
        return cls(
            centre,
            frame.unit.astype(np.float32),
            turned.reshape(-1, turned.shape[2]).astype(np.float32),
            shift.reshape(-1, 1).astype(np.float32),
            (constant - constant.min())[:, None].astype(np.float32),
            error,
            min(MOST_SQUARE, float(reach) ** 2),
        )

    def __call__(self, table: NDArray, *, certain: bool = False) -> Screened:
        """The clusters of a table (n, d); certain: clear if all others are negligible too."""
        labels, clear = np.empty(len(table), dtype=np.intp), np.empty(len(table), dtype=bool)
        margin = self._margin(certain=certain)
        n_clusters = len(self.constant)
        # One product counts the clusters in question and adds up their numbers.
        counting = np.stack([np.ones(n_clusters), np.arange(n_clusters)]).astype(np.float32)
        for rows in chunks(len(table), max(CACHED // len(self.whitening), 1)):
            columns, inside = self._standardised(table[rows])
            whitened = self.whitening @ columns  # (K D, m)
            whitened -= self.shift
            np.square(whitened, out=whitened)
            squares = whitened.reshape(n_clusters, -1, whitened.shape[1]).sum(1)
            squares += self.constant
            best = squares.min(0)
            number, which = counting @ (squares <= best + np.float32(margin)).astype(np.float32)
            clear[rows] = (number == 1) & (best <= self.farthest) & inside
            labels[rows] = which
        return Screened(labels, clear)

    def _standardised(self, part: NDArray) -> tuple[Single, NDArray[np.bool_] | bool]:
        """The columns (d, m) of some rows, and which of these are not clipped."""
        kind = part.dtype if part.dtype == np.float32 else np.dtype(np.float64)
        columns = np.subtract(part.T, self.centre.astype(kind)[:, None], dtype=kind, order="C")
        columns = columns.astype(np.float32, copy=False)
        columns *= self.unit[:, None]
        most = np.float32(OUTLIER * (1 - 1e-5))
        inside = max(columns.max(initial=0), -columns.min(initial=0)) <= most
        return columns, bool(inside) or (abs(columns) <= most).all(0)

    def _margin(self, *, certain: bool) -> float:
        """By how much the next square must exceed the least, in the worst case of rounding."""
        log_odds = CERTAIN + math.log(len(self.constant)) if certain else 0.0
        spread = float(self.constant.max())
        margin = least = 2 * log_odds + 1e-2
        for _ in range(20):
            reach = math.sqrt(margin + self.farthest + spread) + math.sqrt(self.farthest)
            margin = least + self.error**2 + 2 * self.error * reach
        return margin


def _error(
    frame: StandardColumns,
    axes: NDArray[np.float64],
    whitening: NDArray[np.float64],
    turned: NDArray[np.float64],
    shift: NDArray[np.float64],
) -> float:
    """The largest distance of a whitened point from that of the exact rule.

    The exact rule reads points in float32, so its own rounding counts too.
    """
    n_columns = len(axes)
    size = OUTLIER * math.sqrt(n_columns)
    point = np.linalg.norm(axes) * (size + float(np.linalg.norm(frame.middle)))
    each = (
        np.linalg.norm(turned, axis=(1, 2)) * size
        + np.linalg.norm(shift, axis=1)
        + np.linalg.norm(whitening, axis=(1, 2)) * point
    )
    return float((n_columns + 4) * ROUND_OFF * each.max())
