"""Which of several contexts' answers a large set gets.

Of a large set the clusters are found on a context, and another context may show others. So several
contexts are asked, and the answer that agrees best with all others is taken. Two that agree are
enough.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.metrics import ari

Labels = NDArray[np.intp]

ALIKE = 0.95


class Election(NamedTuple):
    """Which answer is taken, and the mean agreement of two of those asked for, None for one."""

    chosen: int
    stability: float | None


def is_settled(votes: Sequence[Labels]) -> bool:
    """Whether no other answer needs to be asked for: the first two agree."""
    return len(votes) == 2 and ari(*votes) >= ALIKE


def elect(votes: Sequence[Labels]) -> Election:
    """The answer that agrees best with the others, given the labels (m,) of each for some points.

    The first of equals is taken.
    """
    if len(votes) == 1:
        return Election(0, None)
    agreement = np.array([[ari(one, other) for other in votes] for one in votes])
    others = ~np.eye(len(votes), dtype=bool)
    return Election(int(agreement.sum(1).argmax()), float(agreement[others].mean()))
