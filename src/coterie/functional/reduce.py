"""Reductions over the points of a set, which may be sharded.

Inside `sharded(group)` the points of every set are spread over the processes of a group, and each
reduction here is completed by an all-reduce. Outside it they are plain sums, maxima and softmaxes.
Sharding is for inference: an all-reduce here carries no gradient.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, distributed

_shards: distributed.ProcessGroup | None = None


@contextmanager
def sharded(group: distributed.ProcessGroup) -> Iterator[None]:
    """Inside this context every process of the group holds some of the points of each set."""
    global _shards
    before, _shards = _shards, group
    try:
        yield
    finally:
        _shards = before


def is_sharded() -> bool:
    """Whether the sets have points in other processes."""
    return _shards is not None


def all_points_sum(partial: Tensor) -> Tensor:
    """A sum over the local points, completed over all shards."""
    return partial if _shards is None else _all_reduce(partial, distributed.ReduceOp.SUM)


def all_points_max(partial: Tensor) -> Tensor:
    """A maximum over the local points, completed over all shards."""
    return partial if _shards is None else _all_reduce(partial, distributed.ReduceOp.MAX)


def any_point(flags: Tensor) -> Tensor:
    """Whether any point of a set is flagged: (B, N) -> (B,)."""
    found = flags.any(1)
    return found if _shards is None else all_points_max(found.to(torch.uint8)).bool()


def count_points(mask: Tensor) -> Tensor:
    """The number of valid points of each set: (..., N) -> (...)."""
    return all_points_sum(mask.sum(-1))


def masked_sum(values: Tensor, mask: Tensor) -> Tensor:
    """Sum over the points of a set: values (B, N, ...), mask (B, N) -> (B, ...)."""
    return all_points_sum(torch.where(_like(mask, values), values, 0.0).sum(1))


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over the points of a set, zero for an empty set: (B, N, ...), (B, N) -> (B, ...)."""
    total = masked_sum(values, mask)
    count = count_points(mask).clamp_min(1)
    return total / count.view(-1, *[1] * (total.ndim - 1))


def masked_softmax(scores: Tensor, mask: Tensor, dim: int) -> Tensor:
    """Softmax over the points along dim; zero where the mask, which broadcasts, is False."""
    # A finite floor, not -inf, so that a set without points yields no NaN gradients.
    floored = torch.where(mask, scores, torch.finfo(scores.dtype).min / 4)
    if _shards is None:
        return torch.where(mask, floored.softmax(dim), 0.0)
    log_total = all_points_logsumexp(floored, dim)
    return torch.where(mask, (floored - log_total).exp(), 0.0)


def all_points_logsumexp(scores: Tensor, dim: int) -> Tensor:
    """Logsumexp over the points along dim, which is kept."""
    if _shards is None:
        return scores.logsumexp(dim, keepdim=True)
    peak = all_points_max(scores.amax(dim, keepdim=True))
    return peak + all_points_sum((scores - peak).exp().sum(dim, keepdim=True)).log()


def _all_reduce(partial: Tensor, operation: distributed.ReduceOp.RedOpType) -> Tensor:
    complete = partial.contiguous().clone()
    distributed.all_reduce(complete, operation, group=_shards)
    return complete


def _like(mask: Tensor, values: Tensor) -> Tensor:
    """The mask (B, N) with as many trailing axes as the values."""
    return mask.view(*mask.shape, *[1] * (values.ndim - mask.ndim))
