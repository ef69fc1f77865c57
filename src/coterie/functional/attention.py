"""Multi-head attention as a function; modules only hold its weights."""

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def attention(
    queries: Tensor, keys: Tensor, values: Tensor, heads: int, mask: Tensor | None = None
) -> Tensor:
    """Multi-head attention: queries (B, Q, C), keys and values (B, N, C), mask (B, N) -> (B, Q, C).

    For a set without valid points the result is finite but undefined.
    """
    if mask is not None:
        mask = mask | ~mask.any(1, keepdim=True)
        mask = mask[:, None, None, :].expand(-1, 1, queries.shape[1], -1)
    mixed = scaled_dot_product_attention(
        _split(queries, heads), _split(keys, heads), _split(values, heads), attn_mask=mask
    )
    return mixed.transpose(1, 2).flatten(2)


def _split(x: Tensor, heads: int) -> Tensor:
    """(B, N, C) -> (B, heads, N, C / heads)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)
