"""Several contexts of a large set: their answers side by side, and how much they agree."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from judge.agreement import agreements, members_of
from judge.candidates import Candidate

Frame = NDArray[np.float32]


def carry(candidates: Sequence[Candidate], places: Frame, targets: Frame) -> list[Candidate]:
    """Partitions of places (m, D) as those of targets (r, D), each by its nearest place.

    A cluster that is nobody's nearest is gone.
    """
    nearest = cKDTree(places).query(targets)[1]
    return [
        replace(
            each,
            labels=np.unique(each.labels[nearest], return_inverse=True)[1].astype(np.int16),
        )
        for each in candidates
    ]


def stability(partitions: Sequence[NDArray[np.int16]]) -> float:
    """The mean agreement (adjusted Rand index) of each two of several partitions (n,)."""
    if len(partitions) < 2:
        return 1.0
    labels = np.stack([np.unique(each, return_inverse=True)[1] for each in partitions])
    between = agreements(*members_of(labels))
    return float(between[np.triu_indices(len(labels), 1)].mean())
