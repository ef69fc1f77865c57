"""Tables in the units of a network: columns standardised, then turned onto their principal axes.

The same frame as `functional/canonical.py`, which puts batches into it in training: here for one
table of any size and width, in float64, as a map that serves new rows too.

What comes out does not change under shifts and scales of the columns, nor under the order of rows
and columns, except for round-off and where axes have equal variance.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.utils.random import sample_without_replacement

Numbers = NDArray[np.float64]
Groups = NDArray[np.intp]

MAX_ROWS = 100_000  # more rows would not move the map by anything that a network could see
ROUNDS = 4
TAIL = 3.0  # standard deviations
OUTLIER = 10.0  # standard deviations: a column that hardly varies would else be the first axis
LIMIT = 20.0
CONSTANT = 1e-12  # of the size of its values: a smaller spread is round-off
FLAT = 1e-10  # of the variance along the first axis: a smaller one is round-off
SYMMETRIC = 1e-6  # a skewness below this has no sign
NUMERIC = -1


class Moments(NamedTuple):
    """Centre and spread of each column, (d,) each; a spread of zero is a constant column."""

    centre: Numbers
    spread: Numbers


@dataclass(frozen=True)
class StandardColumns:
    """A fitted map: columns in units of their own, then along the axes of all of them.

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
        np.clip(turned, -LIMIT, LIMIT, out=mapped[:, : turned.shape[1]], casting="same_kind")
        return mapped

    def in_units(self, table: NDArray) -> Numbers:
        """Standardised columns (n, d), held within OUTLIER."""
        standardised = (table - self.centre) * self.unit
        return np.clip(standardised, -OUTLIER, OUTLIER, out=standardised)


def fit_standard(
    table: NDArray,
    width: int,
    *,
    groups: Groups | None = None,
    random_state: np.random.RandomState | None = None,
) -> StandardColumns:
    """The map of a table (n, d): its columns standardised, its first axes in units of the first.

    Beyond MAX_ROWS rows the map is that of a random sample of as many. groups (d,) holds NUMERIC
    for a column of numbers, and the same number for all indicators that came of one column: those
    are standardised together, by their total variance, and weigh as much as one column of numbers.
    """
    sample = _sample(table, random_state)
    centre, spread = robust_moments(sample)
    if groups is not None:
        _share_units(sample, groups, spread)
    unit = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    columns = StandardColumns(width, centre, unit, np.zeros_like(centre), np.empty((0, 0)))
    standardised = columns.in_units(sample)
    # Points turn about their plain mean, not about the centre that their tails do not move.
    middle = standardised.mean(0)
    return replace(columns, middle=middle, axes=principal_axes(standardised, width))


def robust_moments(table: Numbers) -> Moments:
    """Mean and standard deviation of each column (n, d), with the tails held in.

    ROUNDS times they are taken again of the values, clipped at TAIL standard deviations from the
    mean: a few outliers then do not decide the scale of the others.
    """
    centre, spread = _moments(table, np.empty_like(table))
    constant = spread <= CONSTANT * abs(table).max(0)
    clipped = np.empty_like(table)
    for _ in range(ROUNDS):
        np.clip(table, centre - TAIL * spread, centre + TAIL * spread, out=clipped)
        centre, spread = _moments(clipped, clipped)
    return Moments(centre, np.where(constant, 0.0, spread))


def principal_axes(points: Numbers, width: int) -> Numbers:
    """The first axes of points (n, d) in units of the deviation along the first: (d, m).

    An axis points to where its third central moment is positive; where that is zero, its first
    loading that is not is positive. Axes along which nothing varies are zero.
    """
    centred = points - points.mean(0)
    variance, axes = _spectrum(centred, min(width, *points.shape))
    seen = variance > FLAT * variance[0]
    if not seen.any():
        return np.zeros_like(axes)
    return axes * _signs(centred @ axes, axes, variance) * seen / np.sqrt(variance[0])


def _sample(table: NDArray, random_state: np.random.RandomState | None) -> Numbers:
    if len(table) > MAX_ROWS:
        rows = sample_without_replacement(len(table), MAX_ROWS, random_state=random_state)
        table = table[np.sort(rows)]
    return np.asarray(table, dtype=np.float64, order="F")  # columns are read one by one


def _moments(table: Numbers, memory: Numbers) -> Moments:
    """Mean and standard deviation of the columns; the memory, of the same shape, is overwritten."""
    mean = table.mean(0)
    np.subtract(table, mean, out=memory)
    return Moments(mean, np.sqrt(np.einsum("nd,nd->d", memory, memory) / len(table)))


def _share_units(sample: Numbers, groups: Groups, spread: Numbers) -> None:
    """Put a group's plain total deviation in place of the robust ones of its indicators.

    A rare category is all tail, and would come out larger than everything else.
    """
    indicator = groups != NUMERIC
    if not indicator.any():
        return
    _, group = np.unique(groups[indicator], return_inverse=True)
    variance = sample[:, indicator].var(0)
    spread[indicator] = np.sqrt(np.bincount(group, variance))[group]


def _spectrum(centred: Numbers, n_axes: int) -> tuple[Numbers, Numbers]:
    """The largest variances (m,) of points (n, d) and their axes (d, m)."""
    n_rows, n_columns = centred.shape
    if n_columns > n_rows:
        _, singular, axes = np.linalg.svd(centred, full_matrices=False)
        return singular[:n_axes] ** 2 / n_rows, axes[:n_axes].T
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
