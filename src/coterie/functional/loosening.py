"""Looser clusters: those of classes that an encoder has not seen, made from ones that it has."""

import math

import torch
from torch import Generator, Tensor
from torch.nn.functional import normalize

from coterie.functional.partitions import one_hot

PULLED = 0.5  # the share of clusters that are pulled towards another
PULL = 0.6  # how far at most
OWN = (0.75, 1.25)  # a cluster's own factor, beside that of its set


def loosened(
    vectors: Tensor,
    labels: Tensor,
    mask: Tensor,
    n_clusters: int,
    most: float,
    generator: Generator | None = None,
) -> Tensor:
    """Unit vectors (B, N, C) whose clusters are stretched about their means, and lie closer.

    labels and mask (B, N), of up to n_clusters clusters; most: the largest factor of a set.
    """
    n_sets = len(vectors)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(n_sets, *shape, generator=generator, device=vectors.device)

    unit = normalize(vectors, dim=-1)
    member = (one_hot(labels, n_clusters) & mask[..., None]).to(unit)  # (B, N, K)
    mean = member.transpose(1, 2) @ unit / member.sum(1).clamp_min(1)[..., None]  # (B, K, C)
    low, high = OWN
    factor = (uniform(1, 1) * math.log(most)).exp() * (low + (high - low) * uniform(n_clusters, 1))
    pulled = (uniform(n_clusters, 1) < PULLED) * PULL * uniform(n_clusters, 1)
    moved = mean + pulled * mean.roll(1, 1)
    loose = member @ moved + (member @ factor) * (unit - member @ mean)
    return torch.where(member.any(-1, keepdim=True), loose, unit)
