"""Episodes: what a network is shown of a labelled set."""

import torch
from torch import Generator

from coterie.data.batch import SetBatch
from coterie.functional.partitions import one_hot


def drop_clusters(
    batch: SetBatch, n_clusters: int, probability: float, generator: Generator
) -> SetBatch:
    """Partly filtered sets: with the given probability a set loses some of its clusters.

    Each goes with probability one half, one always stays: so looks a set once some of its clusters
    have been found.
    """
    if batch.labels is None:
        raise ValueError("drop_clusters needs labels")
    n_sets = len(batch.points)
    device = batch.points.device
    partly = torch.rand(n_sets, 1, generator=generator, device=device) < probability
    coins = torch.rand(n_sets, n_clusters, generator=generator, device=device)
    member = one_hot(batch.labels, n_clusters) & batch.mask[..., None]  # (B, N, K)
    present = member.any(1)
    kept = present & (coins < 0.5)
    spared = torch.where(present, coins, 2.0).argmin(1, keepdim=True)  # at least this one stays
    kept = kept | ~partly | one_hot(spared[:, 0], n_clusters)
    return batch.keep((member & kept[:, None, :]).any(-1))
