"""Log-sums of exponentials of inner products, without the products in memory.

Fused attention computes them beside its output, and that output is their gradient: with the keys as
values, it is the mean of the keys under the softmax. MiCE's normaliser over a queue of 16,384 keys
for ten experts would otherwise write 84 million products per step, and read them ten times.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

LARGEST_WIDTH = 256  # of the fused kernels on a GPU, which want multiples of eight
MULTIPLE = 8
FIRST_CAPABILITY = 8  # of NVIDIA's devices that have them


def log_sums(queries: Tensor, keys: Tensor, temperature: float) -> Tensor:
    """log sum_v exp(q . k_v / temperature): queries (H, B, D), keys (H, V, D) -> (H, B).

    The keys are constants. On a GPU they and the queries are rounded to half precision.
    """
    if _has_fused_attention(queries):
        sums: Tensor = _LogSums.apply(queries, keys, temperature)
        return sums
    return (queries @ keys.mT / temperature).logsumexp(-1)


def _has_fused_attention(queries: Tensor) -> bool:
    if queries.is_cuda:
        major, _ = torch.cuda.get_device_capability(queries.device)
        return major >= FIRST_CAPABILITY and queries.shape[-1] <= LARGEST_WIDTH
    return queries.device.type == "cpu"


class _LogSums(torch.autograd.Function):
    """The log-sums, with the output of attention as their gradient."""

    @staticmethod
    def forward(context: Any, queries: Tensor, keys: Tensor, temperature: float) -> Tensor:
        means, sums = _attend(queries, keys, temperature)
        context.save_for_backward(means)
        context.temperature = temperature
        return sums

    @staticmethod
    def backward(context: Any, grown: Tensor) -> tuple[Tensor, None, None]:
        (means,) = context.saved_tensors
        return grown[..., None] * means / context.temperature, None, None


def _attend(queries: Tensor, keys: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """The means of the keys under the softmax (H, B, D), and the log-sums (H, B)."""
    kernels, scale = torch.ops.aten, 1 / temperature
    if not queries.is_cuda:
        each, stock = queries[None].contiguous(), keys[None].contiguous()
        found = kernels._scaled_dot_product_flash_attention_for_cpu(each, stock, stock, scale=scale)
        return found[0][0], found[1][0]
    width = queries.shape[-1]
    missing = -width % MULTIPLE
    each, stock = (pad(rows.half(), (0, missing))[None] for rows in (queries, keys))
    found = kernels._scaled_dot_product_flash_attention(each, stock, stock, scale=scale)
    return found[0][0, ..., :width].to(queries), found[1][0].to(queries)
