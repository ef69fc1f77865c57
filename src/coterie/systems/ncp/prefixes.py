"""Every state that seating a labelled set passes through, at once.

With known labels, what is seated before the n-th point is a masked cumulative sum. All prefixes of
a set, and all clusters that its point could join there, are rows of one batch.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from coterie.functional.partitions import one_hot
from coterie.systems.ncp.network import SeatingNetwork


class Prefixes(NamedTuple):
    """What is known before each of N points is seated; slot K is that of a new cluster.

    last: (B, N, K), the last point before that joined each cluster, -1 for none; open: (B, N, K+1)
    bool, the slots that the point may take; taken: (B, N), the slot that it takes.
    """

    last: Tensor
    open: Tensor
    taken: Tensor


def prefixes(labels: Tensor, n_clusters: int) -> Prefixes:
    """The prefixes of labelled sets: labels (B, N) in the order of seating, -1 for none, at last.

    Clusters keep their numbers: which of them are there already is all that matters.
    """
    inside = one_hot(labels, n_clusters)  # (B, N, K)
    number = torch.arange(labels.shape[1], device=labels.device)[:, None]
    up_to = torch.where(inside, number, -1).cummax(1).values
    last = pad(up_to[:, :-1], (0, 0, 1, 0), value=-1)
    known = last >= 0
    joins_known = (known & inside).any(-1)
    taken = torch.where(joins_known, labels, n_clusters)
    return Prefixes(last, pad(known, (0, 1), value=True), taken)


def log_probabilities(
    network: SeatingNetwork, points: Tensor, labels: Tensor, mask: Tensor, at: Prefixes
) -> Tensor:
    """Log-probability of the seat of each point, given those before it: (B, N, D) -> (B, N).

    mask: (B, N), valid points, which come before all others.
    """
    n_clusters = at.last.shape[2]
    valid = mask[..., None]
    own = torch.where(valid, network.seated_point(points), 0.0)  # h, (B, N, P)
    idle = torch.where(valid, network.waiting_point(points), 0.0)  # u, (B, N, P)
    waiting = network.waiting(idle, mask.sum(1))  # U, without the point itself
    inside = one_hot(labels, n_clusters)[..., None]  # (B, N, K, 1)
    each = torch.where(inside, own[:, :, None], 0.0)  # (B, N, K, P)
    sums = pad(each.cumsum(1) - each, (0, 0, 0, 1))  # H before the point; the new slot is zero
    joined = network.join(sums, own)  # (B, N, K + 1, Q)
    # A cluster is what its last point made of it, so that no g needs to be computed twice.
    seat = labels.clamp_min(0)[..., None, None].expand(-1, -1, 1, joined.shape[-1])
    made = joined.gather(2, seat)[:, :, 0]  # (B, N, Q)
    clusters = torch.where(at.last[..., None] >= 0, _of_points(made, at.last), 0.0)
    scores = network.score_joined(joined, pad(clusters, (0, 0, 0, 1)), waiting)
    scores = torch.where(at.open, scores, -torch.inf)
    return scores.log_softmax(-1).gather(2, at.taken[..., None])[..., 0]


def _of_points(values: Tensor, index: Tensor) -> Tensor:
    """The values of the points of an index: (B, N, Q), (B, M, K) -> (B, M, K, Q)."""
    flat = index.clamp_min(0).flatten(1)[..., None].expand(-1, -1, values.shape[-1])
    return values.gather(1, flat).unflatten(1, index.shape[1:])
