"""Multi-head attention as a function; modules only hold its weights."""

import math

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from coterie.functional.reduce import all_points_sum, is_sharded, masked_softmax


def attention(
    queries: Tensor, keys: Tensor, values: Tensor, heads: int, mask: Tensor | None = None
) -> Tensor:
    """Multi-head attention: queries (B, Q, C), keys and values (B, N, C), mask (B, N) -> (B, Q, C).

    With a mask the keys are the points of a set, which may be sharded. A mask (B, Q, N) gives every
    query points of its own. For a set without valid points the result is finite but undefined.
    """
    if mask is not None and mask.ndim == 3:
        mask = (mask | ~mask.any(2, keepdim=True))[:, None]
    elif mask is not None and is_sharded():
        scores = _split(queries, heads) @ _split(keys, heads).transpose(-1, -2)
        scores = scores / math.sqrt(queries.shape[-1] / heads)  # (B, H, Q, N)
        weights = masked_softmax(scores, mask[:, None, None, :], -1)
        mixed = all_points_sum(weights @ _split(values, heads))
        return mixed.transpose(1, 2).flatten(2)
    elif mask is not None:
        mask = mask | ~mask.any(1, keepdim=True)
        mask = mask[:, None, None, :].expand(-1, 1, queries.shape[1], -1)
    mixed = scaled_dot_product_attention(
        _split(queries, heads), _split(keys, heads), _split(values, heads), attn_mask=mask
    )
    return mixed.transpose(1, 2).flatten(2)


def _split(x: Tensor, heads: int) -> Tensor:
    """(B, N, C) -> (B, heads, N, C / heads)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)
