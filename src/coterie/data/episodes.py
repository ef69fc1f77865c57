"""Episodes: partly filtered labelled sets for training."""

from dataclasses import replace

import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.functional.partitions import one_hot


def drop_clusters(
    batch: SetBatch,
    n_clusters: int,
    probability: float,
    generator: Generator,
    *,
    stray_points: float = 0.0,
) -> SetBatch:
    """Partly filtered sets: with the given probability a set loses some of its clusters.

    Each cluster is dropped with probability one half, but one always stays, as in a set some of
    whose clusters have been found. Up to stray_points of the points of a dropped cluster stay as
    strays: valid points without a cluster, labelled -1, as the loop leaves them behind.
    """
    if batch.labels is None:
        raise ValueError("drop_clusters needs labels")
    n_sets, n_points = batch.mask.shape

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, device=batch.points.device)

    partly = uniform(n_sets, 1) < probability
    coins = uniform(n_sets, n_clusters)
    member = one_hot(batch.labels, n_clusters) & batch.mask[..., None]  # (B, N, K)
    present = member.any(1)
    kept = present & (coins < 0.5)
    spared = torch.where(present, coins, 2.0).argmin(1, keepdim=True)  # at least this one stays
    kept = kept | ~partly | one_hot(spared[:, 0], n_clusters)
    of_kept = (member & kept[:, None, :]).any(-1)  # (B, N)
    if not stray_points:
        return batch.keep(of_kept)
    left_behind = uniform(n_sets, n_points) < stray_points * uniform(n_sets, 1)
    labels = torch.where(of_kept, batch.labels, -1)
    return replace(batch.keep(of_kept | left_behind), labels=labels)
