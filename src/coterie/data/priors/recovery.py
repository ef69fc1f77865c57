"""Whether the clusters of a set can be found at all, by a method that is told them to begin with.

A set that even this method loses teaches a network to guess. k-means is started at the true
clusters, in the directions in which these are round on average, and must not drift away from them.
"""

import torch
from torch import Tensor

from coterie.data.batch import SetBatch
from coterie.functional.canonical import symmetric_eigen
from coterie.functional.partitions import one_hot
from coterie.functional.reduce import masked_mean

STEPS = 4
ROWS_AN_AXIS = 12  # of fewer rows a set shows fewer axes: any labels look apart in as many as rows
LEAST_SPREAD = 0.1  # of the deviation along the first axis: less is as good as nothing


def pick_recovered(agreement: Tensor, n_sets: int, least: float) -> Tensor:
    """The numbers (n_sets,) of the first candidates whose agreement (M,) is enough, then others."""
    return torch.argsort((agreement < least).to(torch.uint8), stable=True)[:n_sets]


def recovered(batch: SetBatch, k_max: int) -> Tensor:
    """The ARI (B,) between the true clusters and those of k-means that starts from them.

    The sets lie along principal axes (`onto_principal_axes`). One cluster is always recovered.
    """
    if batch.labels is None:
        raise ValueError("recovered needs labels")
    known = (batch.labels >= 0) & batch.mask
    truth = (one_hot(batch.labels, k_max) & known[..., None]).double()  # (B, N, K)
    points = _round_clusters(batch.points.double(), known, truth)
    exists = truth.any(1)  # (B, K)
    found = truth
    for _ in range(STEPS):
        size = found.sum(1)[..., None]  # (B, K, 1)
        centres = found.mT @ points / size.clamp_min(1)
        # |x|^2 is the same for all centres.
        apart = centres.square().sum(-1)[:, None] - 2 * points @ centres.mT  # (B, N, K)
        apart = torch.where(exists[:, None] & (size > 0).mT, apart, torch.inf)
        found = (one_hot(apart.argmin(2), k_max) & known[..., None]).double()
    return agreement(truth, found)


def agreement(first: Tensor, second: Tensor) -> Tensor:
    """The adjusted Rand index (B,) of memberships (B, N, K), rows of padding zero.

    1 where both are a single cluster.
    """

    def pairs(count: Tensor) -> Tensor:
        return (count * (count - 1) / 2).flatten(1).sum(1)

    both = pairs(first.mT @ second)
    one, other = pairs(first.sum(1)), pairs(second.sum(1))
    expected = one * other / pairs(first.sum((1, 2))[:, None]).clamp_min(1)
    room = (one + other) / 2 - expected
    return torch.where(room > 1e-9, (both - expected) / room.clamp_min(1e-9), 1.0)


def _round_clusters(points: Tensor, known: Tensor, truth: Tensor) -> Tensor:
    """Points (B, N, D) in directions and units in which the mean covariance of clusters is one."""
    n_rows = known.sum(1)[:, None, None]
    seen = torch.arange(points.shape[-1], device=points.device) < n_rows / ROWS_AN_AXIS
    points = torch.where(known[..., None] & seen, points, 0.0)
    centres = truth.mT @ points / truth.sum(1)[..., None].clamp_min(1)
    residual = torch.where(known[..., None], points - truth @ centres, 0.0)
    variance, axes = symmetric_eigen(residual.mT @ residual / n_rows.clamp_min(1))
    centred = points - masked_mean(points, known)[:, None]
    units = (variance.clamp_min(0) + LEAST_SPREAD**2).sqrt()[:, None]
    return torch.where(known[..., None], centred @ axes / units, 0.0)
