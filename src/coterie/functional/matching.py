"""The loss of a proposal: its minimum over the true clusters (DAC, eq. 5)."""

import torch
from torch import Tensor
from torch.nn.functional import softplus

from coterie.functional.partitions import one_hot
from coterie.functional.reduce import masked_mean, masked_sum


def membership_loss(
    membership_logits: Tensor, labels: Tensor, mask: Tensor, n_clusters: int
) -> Tensor:
    """Mean binary cross-entropy of a proposal against every true cluster: (B, N) -> (B, K).

    BCE(m, t) = softplus(l) - t l, so the K sums over points share all but one inner product.
    """
    inside = one_hot(labels, n_clusters).to(membership_logits.dtype)  # (B, N, K)
    background = masked_mean(softplus(membership_logits), mask)  # (B,)
    hit = masked_mean(membership_logits[..., None] * inside, mask)  # (B, K)
    return background[:, None] - hit


def cluster_mean(values: Tensor, labels: Tensor, mask: Tensor, n_clusters: int) -> Tensor:
    """Mean of a value over the points of every true cluster: (B, N) -> (B, K), empty: zero."""
    inside = one_hot(labels, n_clusters).to(values.dtype)
    count = masked_sum(inside, mask)
    return masked_sum(values[..., None] * inside, mask) / count.clamp_min(1)


def present_clusters(labels: Tensor, mask: Tensor, n_clusters: int) -> Tensor:
    """Which true clusters have a valid point: labels and mask (B, N) -> (B, K) bool."""
    return (one_hot(labels, n_clusters) & mask[..., None]).any(1)


def minimum_over_clusters(losses: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """The loss against the easiest cluster that has points: (B, K) -> (B,); eq. 5's minimum."""
    present = present_clusters(labels, mask, losses.shape[1])
    easiest = torch.where(present, losses, torch.inf).amin(1)
    return torch.where(present.any(1), easiest, 0.0)


def overlap(found: Tensor, wanted: Tensor) -> Tensor:
    """Jaccard index of two clusters, memberships in [0, 1]: (..., N) -> (...)."""
    both = (found * wanted).sum(-1)
    either = (found + wanted - found * wanted).sum(-1)
    return both / either.clamp_min(1e-6)


def sureness(logits: Tensor) -> Tensor:
    """Confidence: overlap of the memberships with their thresholded values, (..., N) -> (...)."""
    return overlap(logits.sigmoid(), (logits > 0).to(logits))
