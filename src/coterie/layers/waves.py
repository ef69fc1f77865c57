"""Fourier features of coordinates, which separate places that lie close together."""

import torch
from torch import Tensor, nn


class Waves(nn.Module):
    """Coordinates with their sines and cosines, each frequency twice the previous one.

    A plain network is smooth in its input and learns thin gaps between shapes slowly (Tancik et
    al. 2020).
    """

    def __init__(self, frequencies: int) -> None:
        super().__init__()
        self.frequencies = frequencies

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D (1 + 2 F))."""
        octaves = 2.0 ** torch.arange(self.frequencies, dtype=x.dtype, device=x.device)
        phase = (x[..., None] * octaves).flatten(-2)
        return torch.cat([x, phase.sin(), phase.cos()], -1)
