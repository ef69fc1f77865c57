"""Check whether the clusters of a set are recoverable, by k-means started at the true clusters.

A set whose clusters even this method does not recover would train a network to guess. The points
are transformed so that the average cluster covariance is spherical, and k-means must not drift away
from the true clusters.
"""

import torch
from torch import Tensor

from coterie.data.batch import SetBatch
from coterie.functional.canonical import symmetric_eigen
from coterie.functional.partitions import one_hot
from coterie.functional.reduce import masked_mean

STEPS = 4
ROWS_AN_AXIS = 12  # limits the axes of small sets: with as many axes as rows any labels separate
LEAST_SPREAD = 0.1  # relative to the deviation along the first axis; smaller ones are negligible


def pick_recovered(agreement: Tensor, n_sets: int, least: float) -> Tensor:
    """Indices (n_sets,) of the first candidates with sufficient agreement (M,), then of others."""
    return torch.argsort((agreement < least).to(torch.uint8), stable=True)[:n_sets]


def recovered(batch: SetBatch, k_max: int) -> Tensor:
    """The ARI (B,) between the true clusters and those of k-means started from them.

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
    """The adjusted Rand index (B,) of memberships (B, N, K), whose padding rows are zero.

    It is 1 if both partitions are a single cluster.
    """

    def pairs(count: Tensor) -> Tensor:
        return (count * (count - 1) / 2).flatten(1).sum(1)

    both = pairs(first.mT @ second)
    one, other = pairs(first.sum(1)), pairs(second.sum(1))
    expected = one * other / pairs(first.sum((1, 2))[:, None]).clamp_min(1)
    room = (one + other) / 2 - expected
    return torch.where(room > 1e-9, (both - expected) / room.clamp_min(1e-9), 1.0)


def _round_clusters(points: Tensor, known: Tensor, truth: Tensor) -> Tensor:
    """Points (B, N, D) whitened so that the mean covariance of the clusters is the identity."""
    n_rows = known.sum(1)[:, None, None]
    seen = torch.arange(points.shape[-1], device=points.device) < n_rows / ROWS_AN_AXIS
    points = torch.where(known[..., None] & seen, points, 0.0)
    centres = truth.mT @ points / truth.sum(1)[..., None].clamp_min(1)
    residual = torch.where(known[..., None], points - truth @ centres, 0.0)
    variance, axes = symmetric_eigen(residual.mT @ residual / n_rows.clamp_min(1))
    centred = points - masked_mean(points, known)[:, None]
    units = (variance.clamp_min(0) + LEAST_SPREAD**2).sqrt()[:, None]
    return torch.where(known[..., None], centred @ axes / units, 0.0)
