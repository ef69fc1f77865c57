"""Many small heads on one backbone, computed as one matrix product."""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, normalize


class UnitHeads(nn.Module):
    """H linear maps (M, C) -> (M, H, D) whose outputs are unit vectors (MiCE, appendix D).

    weight: (H, D, C), bias: (H, D), each head initialised as `nn.Linear` is.
    """

    def __init__(self, features: int, n_heads: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_heads, width, features))
        self.bias = nn.Parameter(torch.empty(n_heads, width))
        bound = 1 / math.sqrt(features)
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, features: Tensor, heads: slice = slice(None)) -> Tensor:
        """Some of the heads, all by default: (M, C) -> (M, H, D)."""
        weight, bias = self.weight[heads], self.bias[heads]
        outputs = linear(features, weight.flatten(0, 1), bias.flatten())
        return normalize(outputs.view(len(features), *bias.shape), dim=-1)
