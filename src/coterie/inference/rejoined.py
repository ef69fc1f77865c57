"""Clusters of directions, cut into pieces that are joined again where they leak into each other.

A set network that has seen few kinds of classes divides an unseen one, or joins two. Its encoder
knows better: what is one class is decided by the neighbours by which it has learnt
(`functional/leakage.py`). The pieces of the clusters are joined in the order in which they leak,
until none leaks more than is allowed, and leftovers are dissolved.
"""

import torch
from torch import Tensor
from torch.nn.functional import normalize

from coterie.functional.leakage import leakage, neighbour_weights
from coterie.functional.spherical import spherical_step, sum_by_label
from coterie.inference.leftovers import smallest_kept

PIECES = 12  # at least, and two of each cluster
FEWEST = 8  # smaller clusters are not cut
CUT_STEPS, JOIN_STEPS, LAST_STEPS = 5, 3, 10


def rejoined(
    vectors: Tensor,
    labels: Tensor,
    most_leakage: float,
    *,
    least: float = 0,
    at_least: int = 1,
    at_most: int | None = None,
) -> Tensor:
    """Other clusters of vectors (N, C), from labels (N,), -1 for none: labels 0..K-1 (N,).

    Of any two clusters none leaks more than most_leakage into the other, and none is a leftover of
    fewer points than least, unless there would be less than at_least; there are no more than
    at_most.
    """
    unit = normalize(vectors.double(), dim=-1)
    labels = _moved(unit, _numbered(labels), LAST_STEPS)
    labels = _moved(unit, _in_pieces(unit, labels), LAST_STEPS)
    weights = neighbour_weights(unit)
    while (n_clusters := int(labels.max()) + 1) > max(at_least, 1):
        leaks = leakage(weights, labels, n_clusters)
        worst = int(leaks.argmax())
        if float(leaks.flatten()[worst]) <= most_leakage:
            sizes = labels.bincount(minlength=n_clusters)
            if int(sizes.min()) < smallest_kept(sizes.cpu().numpy(), least):
                left = labels == sizes.argmin()
                labels = _moved(unit, _numbered(torch.where(left, -1, labels)), JOIN_STEPS)
                continue
            if at_most is None or n_clusters <= at_most:
                break
        one, other = divmod(worst, n_clusters)
        labels = _moved(unit, _numbered(torch.where(labels == one, other, labels)), JOIN_STEPS)
    return _moved(unit, labels, LAST_STEPS)


def _numbered(labels: Tensor) -> Tensor:
    """Labels without gaps; -1 stays, and all are one cluster where there is none."""
    if not bool((labels >= 0).any()):
        return torch.zeros_like(labels)
    known = labels[labels >= 0].unique()
    return torch.where(labels >= 0, torch.searchsorted(known, labels), -1)


def _moved(unit: Tensor, labels: Tensor, steps: int) -> Tensor:
    """The labels after some steps of spherical k-means, without empty clusters."""
    for _ in range(steps):
        known = labels >= 0
        n_clusters = int(labels.max()) + 1
        sums = sum_by_label(unit[known], labels[known], n_clusters)
        labels = _numbered(spherical_step(unit, normalize(sums, dim=-1)).labels)
    return labels


def _in_pieces(unit: Tensor, labels: Tensor) -> Tensor:
    """The largest cluster cut in two, again and again."""
    wanted = max(PIECES, 2 * (int(labels.max()) + 1))
    while (n_clusters := int(labels.max()) + 1) < wanted:
        largest = int(labels.bincount(minlength=n_clusters).argmax())
        members = (labels == largest).nonzero()[:, 0]
        if len(members) < FEWEST:
            break
        half = _halves(unit[members])
        if bool((half == half[0]).all()):
            break
        labels = labels.index_put((members[half == 1],), labels.new_tensor(n_clusters))
    return labels


def _halves(unit: Tensor) -> Tensor:
    """Directions (M, C) in two parts, begun on either side of their longest axis: 0 or 1 (M,)."""
    centred = unit - unit.mean(0)
    axis = torch.linalg.eigh(centred.T @ centred).eigenvectors[:, -1]
    return _moved(unit, _numbered((centred @ axis > 0).long()), CUT_STEPS)
