"""One rule of several contexts' answers with much the same clusters.

Where a border runs depends on the context. So every answer says what it expects of the points of a
common sample, and the mean of this, told in the clusters of one of them, is the rule (a vote as of
Dudoit and Fridlyand 2003, with memberships instead of labels).
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from coterie.inference.rules.partition import LEAST, PartitionRule

Shares = NDArray[np.float64]


def mean_shares(shares: Sequence[Shares], chosen: int) -> Shares:
    """The mean of memberships (m, K_c) of the same points, in the clusters of one of them: (m, K).

    A cluster of another answer counts for the one that most of it lies in; if it holds most of
    several, for these in proportion: it says nothing about the borders between them.
    """
    own = shares[chosen]
    return np.mean([each @ _meaning(each, own) for each in shares], axis=0)


def rule_of(shares: Shares, points: NDArray) -> PartitionRule:
    """The rule of memberships (m, K) of points (m, D)."""
    shares = np.maximum(shares, LEAST)
    log_shares = torch.from_numpy(np.log(shares / shares.sum(1, keepdims=True)))
    return PartitionRule(cKDTree(points), log_shares)


def _meaning(other: Shares, own: Shares) -> Shares:
    """What each of L clusters stands for among K others, from memberships (m, L) and (m, K)."""
    both = other.T @ own
    held = both > own.sum(0) / 2
    main = np.eye(both.shape[1])[both.argmax(1)]
    meaning = np.where(held.any(1, keepdims=True), held * both, main)
    return meaning / meaning.sum(1, keepdims=True)
