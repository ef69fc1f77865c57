"""Rows that repeat others, for work that need be done once for each."""

from hashlib import blake2b
from typing import NamedTuple

import torch
from torch import Tensor


class Repeats(NamedTuple):
    """Which rows (n,) of a table are the first of their kind, (u,), and the kind of each, (n,)."""

    first: Tensor
    kind: Tensor


def find_repeats(rows: Tensor) -> Repeats:
    """The kinds of rows (n, ...), numbered by their first occurrence; n where no two are equal.

    By a digest of their bytes: to sort the rows takes twice as long.
    """
    numbers, first, kind = dict[bytes, int](), list[int](), list[int]()
    for place, row in enumerate(rows.flatten(1).contiguous().view(torch.uint8).cpu().numpy()):
        number = numbers.setdefault(blake2b(row, digest_size=16).digest(), len(numbers))
        if number == len(first):
            first.append(place)
        kind.append(number)
    places = (torch.tensor(each, dtype=torch.int64, device=rows.device) for each in (first, kind))
    return Repeats(*places)
