"""Realistic columns of tables: skewed, heavy-tailed, bounded, counts, codes and grades.

Every kind is a monotone map of a standardised column, so the order of the values is preserved,
except where rounding and bounds create ties. The shares follow the statistics of 78 real tables:
the median table has a skewness of 0.7 in its median column and 1.8 in its most skewed tenth, in
every fourth two fifths of the columns are integers, every tenth has columns of a few values.
"""

from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor

from coterie.data.priors.draws import Draws


class Kind(NamedTuple):
    """A kind of column: its share, and the map from standardised columns (B, N, D) to its values.

    The map also takes an amount (B, 1, D) in [0, 1], the degree of skewness, coarseness or rarity.
    """

    share: float
    values: Callable[[Tensor, Tensor], Tensor]


def plain(x: Tensor, amount: Tensor) -> Tensor:
    """The column as it is."""
    return x


def skewed(x: Tensor, amount: Tensor) -> Tensor:
    """Close to lognormal."""
    bend = 0.2 + amount
    return (bend * x.clamp(-6, 6)).expm1() / bend


def heavy(x: Tensor, amount: Tensor) -> Tensor:
    """Heavier tails than a normal distribution on both sides."""
    bend = 0.3 + 0.6 * amount
    return (bend * x.clamp(-6, 6)).sinh() / bend


def bounded(x: Tensor, amount: Tensor) -> Tensor:
    """Between two bounds, as a proportion or an exam mark; many values are close to them."""
    return (x * (0.5 + 1.5 * amount)).tanh()


def floored(x: Tensor, amount: Tensor) -> Tensor:
    """Clipped at a floor that many rows share, as at a detection limit."""
    return torch.maximum(x, 1.5 * amount - 1.5)


def rounded(x: Tensor, amount: Tensor) -> Tensor:
    """Rounded to steps, as integers or the readings of a coarse instrument."""
    step = 0.05 * (2.5 * amount).exp()
    return (x / step).round() * step


def counts(x: Tensor, amount: Tensor) -> Tensor:
    """Counts: mostly small, often zero, rarely large."""
    return (3 * amount + (0.3 + 0.6 * amount) * x.clamp(-6, 6)).exp().floor()


def graded(x: Tensor, amount: Tensor) -> Tensor:
    """One of a few ordered values, as on a rating scale."""
    step = 0.5 + 0.7 * amount
    return (x / step).round().clamp(-2, 2)


def binary(x: Tensor, amount: Tensor) -> Tensor:
    """Yes or no."""
    return (x > 2 * amount - 1).to(x)


KINDS = (
    Kind(0.27, plain),
    Kind(0.30, skewed),
    Kind(0.08, heavy),
    Kind(0.05, bounded),
    Kind(0.05, floored),
    Kind(0.10, rounded),
    Kind(0.08, counts),
    Kind(0.05, graded),
    Kind(0.02, binary),
)


def as_real_columns(points: Tensor, draws: Draws) -> Tensor:
    """Map standardised columns (B, N, D) to realistic ones: mostly one kind, some of others."""
    n_sets, _, columns = points.shape
    main = _kinds(n_sets, 1, draws)
    other = _kinds(n_sets, columns, draws)
    mixed = draws.chance(0.5, n_sets, 1, 1) & draws.chance(0.5, n_sets, 1, columns)
    kind = torch.where(mixed, other, main)
    # Columns of one table are similar: their amounts vary around that of the table.
    amount = draws.uniform(0, 1, n_sets, 1, 1) + 0.15 * draws.normal(n_sets, 1, columns)
    amount = amount.clamp(0, 1)
    mirrored = draws.chance(0.15, n_sets, 1, columns)
    points = torch.where(mirrored, -points, points)
    result = points
    for number, (_, values) in enumerate(KINDS):
        result = torch.where(kind == number, values(points, amount), result)
    return result


def _kinds(n_sets: int, columns: int, draws: Draws) -> Tensor:
    """Indices into KINDS, drawn in proportion to their shares: (B, 1, columns)."""
    ends = list(accumulate(kind.share for kind in KINDS))
    ticket = ends[-1] * draws.uniform(0, 1, n_sets, 1, columns)
    kind = torch.zeros_like(ticket)
    for end in ends[:-1]:  # floats, not a tensor: a captured step cannot copy one to the device
        kind = kind + (ticket >= end)
    return kind
