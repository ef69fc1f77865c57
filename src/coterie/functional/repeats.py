"""Rows that repeat others, for work that need be done once for each."""

from typing import NamedTuple

import torch
from torch import Tensor


class Repeats(NamedTuple):
    """Which rows (n,) of a table are the first of their kind, (u,), and the kind of each, (n,)."""

    first: Tensor
    kind: Tensor


def find_repeats(rows: Tensor) -> Repeats:
    """The kinds of rows (n, ...), numbered by their first occurrence; n where no two are equal."""
    _, kind = torch.unique(rows.flatten(1), dim=0, return_inverse=True)
    places = torch.arange(len(rows), device=rows.device)
    first = torch.full_like(places, len(rows)).scatter_reduce_(0, kind, places, "amin")
    first, order = first[first < len(rows)].sort()
    return Repeats(first, order.argsort()[kind])
