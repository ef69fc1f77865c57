"""Masked sums over the points of a set."""

import torch
from torch import Tensor


def masked_sum(values: Tensor, mask: Tensor) -> Tensor:
    """Sum over the points of a set: values (B, N, ...), mask (B, N) -> (B, ...)."""
    return torch.where(_like(mask, values), values, 0.0).sum(1)


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over the points of a set, zero where a set is empty: (B, N, ...), (B, N) -> (B, ...)."""
    total = masked_sum(values, mask)
    count = mask.sum(1).clamp_min(1)
    return total / count.view(-1, *[1] * (total.ndim - 1))


def _like(mask: Tensor, values: Tensor) -> Tensor:
    """The mask (B, N) with as many trailing axes as the values."""
    return mask.view(*mask.shape, *[1] * (values.ndim - mask.ndim))
