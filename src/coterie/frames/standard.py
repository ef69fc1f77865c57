"""The standard frame: columns standardised robustly, then rotated onto their principal axes.

The same frame as `functional/canonical.py` computes for training batches, here for one table of
any size and width, in float64, as a map that applies to new rows too.

The result is invariant to shifts and scales of the columns and to the order of rows and columns,
up to rounding and except for axes of equal variance.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from coterie.frames.protocol import NUMERIC, Groups
from coterie.functional.canonical import CLIP, FARTHEST, OUTLIER, PASSES

Numbers = NDArray[np.float64]

CONSTANT = 1e-12  # relative to the values: a smaller spread is rounding
FLAT = 1e-10  # relative to the variance along the first axis: a smaller one is rounding
SYMMETRIC = 1e-6  # a smaller skewness does not determine a sign


class Moments(NamedTuple):
    """Centre and spread of each column, (d,) each; constant columns have a spread of zero."""

    centre: Numbers
    spread: Numbers


@dataclass(frozen=True)
class StandardColumns:
    """A fitted map: standardised columns, rotated onto the principal axes.

    centre and unit (d,), the unit a factor; middle (d,), the mean in these units; axes (d, m) with
    m <= width.
    """

    width: int
    centre: Numbers
    unit: Numbers
    middle: Numbers
    axes: Numbers

    def __call__(self, table: NDArray) -> NDArray[np.float32]:
        """(n, d) -> (n, width); missing columns are zero."""
        mapped = np.zeros((len(table), self.width), dtype=np.float32)
        turned = (self.in_units(table) - self.middle) @ self.axes
        np.clip(turned, -FARTHEST, FARTHEST, out=mapped[:, : turned.shape[1]], casting="same_kind")
        return mapped

    def in_units(self, table: NDArray) -> Numbers:
        """Standardised columns (n, d), clipped at OUTLIER."""
        standardised = (table - self.centre) * self.unit
        return np.clip(standardised, -OUTLIER, OUTLIER, out=standardised)

    def widened(self, units: Numbers, width: int) -> "StandardColumns":
        """The same map with further axes: of what these axes leave of columns (n, d) in units."""
        lengths = np.linalg.norm(self.axes, axis=0)
        if not lengths[:1].any():
            return self
        known = np.divide(self.axes, lengths, out=np.zeros_like(self.axes), where=lengths > 0)
        centred = units - self.middle
        left = centred - centred @ known @ known.T
        _, more = _spectrum(left - left.mean(0), min(width - self.axes.shape[1], *left.shape))
        return replace(self, width=width, axes=np.hstack([self.axes, more * lengths[0]]))

    def rows(self, points: NDArray) -> Numbers:
        """The rows (n, d) at points (n, d) along all d axes."""
        n_columns, n_axes = self.axes.shape
        if n_axes < n_columns or not (self.unit.all() and self.axes.any(0).all()):
            raise ValueError(
                f"the network reads fewer axes than the {n_columns} columns have: whole rows cannot"
                " be reconstructed"
            )
        standardised = np.linalg.solve(self.axes.T, points.T).T + self.middle
        return standardised / self.unit + self.centre


def fit_standard(table: NDArray, width: int, *, groups: Groups | None = None) -> StandardColumns:
    """Fit the map of a table (n, d): standardised columns, axes in units of the first.

    groups (d,) holds NUMERIC for a numeric column, and a common number for all indicators of one
    categorical column: these are standardised together, by their total variance, and weigh as much
    as one numeric column.
    """
    values = np.asarray(table, dtype=np.float64, order="F")  # columns are read one by one
    centre, spread = robust_moments(values)
    if groups is not None:
        _share_units(values, groups, spread)
    unit = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    columns = StandardColumns(width, centre, unit, np.zeros_like(centre), np.empty((0, 0)))
    standardised = columns.in_units(values)
    # The rotation is about the plain mean, not about the robust centre.
    middle = standardised.mean(0)
    return replace(columns, middle=middle, axes=principal_axes(standardised, width))


def robust_moments(table: Numbers) -> Moments:
    """Robust mean and standard deviation of each column (n, d).

    They are re-estimated PASSES times from the values clipped at CLIP standard deviations from the
    mean, so that a few outliers do not determine the scale.
    """
    centre, spread = _moments(table, np.empty_like(table))
    constant = spread <= CONSTANT * abs(table).max(0)
    clipped = np.empty_like(table)
    for _ in range(PASSES):
        np.clip(table, centre - CLIP * spread, centre + CLIP * spread, out=clipped)
        centre, spread = _moments(clipped, clipped)
    return Moments(centre, np.where(constant, 0.0, spread))


def principal_axes(points: Numbers, width: int) -> Numbers:
    """The first principal axes of points (n, d), in units of the deviation along the first: (d, m).

    The sign of an axis makes its third central moment positive or, if that is zero, its first
    non-zero loading. Axes without variance are zero.
    """
    centred = points - points.mean(0)
    variance, axes = _spectrum(centred, min(width, *points.shape))
    seen = variance > FLAT * variance[0]
    if not seen.any():
        return np.zeros_like(axes)
    return axes * _signs(centred @ axes, axes, variance) * seen / np.sqrt(variance[0])


def _moments(table: Numbers, memory: Numbers) -> Moments:
    """Mean and standard deviation of the columns; memory, of the same shape, is overwritten."""
    mean = table.mean(0)
    np.subtract(table, mean, out=memory)
    return Moments(mean, np.sqrt(np.einsum("nd,nd->d", memory, memory) / len(table)))


def _share_units(table: Numbers, groups: Groups, spread: Numbers) -> None:
    """Replace the robust deviations of a group's indicators by its plain total deviation.

    A rare category consists of outliers, and its robust deviation would be far too small.
    """
    indicator = groups != NUMERIC
    if not indicator.any():
        return
    _, group = np.unique(groups[indicator], return_inverse=True)
    variance = table[:, indicator].var(0)
    spread[indicator] = np.sqrt(np.bincount(group, variance))[group]


def _spectrum(centred: Numbers, n_axes: int) -> tuple[Numbers, Numbers]:
    """The largest variances (m,) of points (n, d) and their axes (d, m)."""
    n_rows, n_columns = centred.shape
    if n_columns > n_rows:  # the products of rows have the same spectrum, and are far fewer
        last = (n_rows - n_axes, n_rows - 1)
        variance, scores = eigh(centred @ centred.T / n_rows, subset_by_index=last)
        # Rounding leaves some of the leading axes in those along which little varies.
        return variance[::-1], np.linalg.qr(centred.T @ scores[:, ::-1])[0]
    covariance = centred.T @ centred / n_rows
    variance, axes = eigh(covariance, subset_by_index=(n_columns - n_axes, n_columns - 1))
    return variance[::-1], axes[:, ::-1]


def _signs(scores: Numbers, axes: Numbers, variance: Numbers) -> Numbers:
    """+1 or -1 for each of the axes (d, m), by the scores (n, m) along them."""
    third = np.einsum("nm,nm,nm->m", scores, scores, scores) / len(scores)
    symmetric = abs(third) <= SYMMETRIC * np.maximum(variance, 0) ** 1.5
    first = np.argmax(abs(axes) > SYMMETRIC, axis=0)
    leading = axes[first, np.arange(axes.shape[1])]
    return np.where(np.where(symmetric, leading, third) < 0, -1.0, 1.0)
