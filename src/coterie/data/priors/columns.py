"""What the columns of real tables are: skewed, heavy-tailed, bounded, counts, codes and answers.

Every kind is a monotone map of a standardised column, so the order of its values stays; rounding
and bounds lose some of it. The shares follow what 78 real tables show: the median table has a
skewness of 0.7 in its median column and 1.8 in its most skewed tenth, every fourth consists of
whole numbers by two fifths, every tenth has columns of a few values.
"""

from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor

from coterie.data.priors.draws import Draws


class Kind(NamedTuple):
    """A kind of column: how often, and its values (B, N, D) for a standardised column.

    The map also gets an amount (B, 1, D), uniform in [0, 1): how skewed, how coarse, how rare.
    """

    share: float
    values: Callable[[Tensor, Tensor], Tensor]


def plain(x: Tensor, amount: Tensor) -> Tensor:
    """The column as it is."""
    return x


def skewed(x: Tensor, amount: Tensor) -> Tensor:
    """Near a lognormal."""
    bend = 0.2 + amount
    return (bend * x.clamp(-6, 6)).expm1() / bend


def heavy(x: Tensor, amount: Tensor) -> Tensor:
    """Tails that are longer than a normal's on both sides."""
    bend = 0.3 + 0.6 * amount
    return (bend * x.clamp(-6, 6)).sinh() / bend


def bounded(x: Tensor, amount: Tensor) -> Tensor:
    """Between two bounds, as a share or a mark; many values are near them."""
    return (x * (0.5 + 1.5 * amount)).tanh()


def floored(x: Tensor, amount: Tensor) -> Tensor:
    """Nothing below a floor that many rows share, as what is too little to be measured."""
    return torch.maximum(x, 1.5 * amount - 1.5)


def rounded(x: Tensor, amount: Tensor) -> Tensor:
    """In steps, as whole numbers or a coarse instrument."""
    step = 0.05 * (2.5 * amount).exp()
    return (x / step).round() * step


def counts(x: Tensor, amount: Tensor) -> Tensor:
    """How many: mostly few, zero often, seldom many."""
    return (3 * amount + (0.3 + 0.6 * amount) * x.clamp(-6, 6)).exp().floor()


def graded(x: Tensor, amount: Tensor) -> Tensor:
    """One of a few values, as an answer on a scale."""
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
    """Standardised columns (B, N, D) as a table has them: mostly of one kind, some of others."""
    n_sets, _, columns = points.shape
    main = _kinds(n_sets, 1, draws)
    other = _kinds(n_sets, columns, draws)
    mixed = draws.chance(0.5, n_sets, 1, 1) & draws.chance(0.5, n_sets, 1, columns)
    kind = torch.where(mixed, other, main)
    # Columns of one table are alike: the amount differs about that of the table.
    amount = draws.uniform(0, 1, n_sets, 1, 1) + 0.15 * draws.normal(n_sets, 1, columns)
    amount = amount.clamp(0, 1)
    mirrored = draws.chance(0.15, n_sets, 1, columns)
    points = torch.where(mirrored, -points, points)
    result = points
    for number, (_, values) in enumerate(KINDS):
        result = torch.where(kind == number, values(points, amount), result)
    return result


def _kinds(n_sets: int, columns: int, draws: Draws) -> Tensor:
    """Numbers of KINDS, in proportion to their shares: (B, 1, columns)."""
    ends = list(accumulate(kind.share for kind in KINDS))
    ticket = ends[-1] * draws.uniform(0, 1, n_sets, 1, columns)
    kind = torch.zeros_like(ticket)
    for end in ends[:-1]:  # numbers, not a tensor: a recorded step cannot copy one to the device
        kind = kind + (ticket >= end)
    return kind
