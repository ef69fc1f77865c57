"""Residual networks for small images (He et al. 2016), ending in one vector for an image.

The stem is a 3x3 convolution of stride 1 without pooling, as for CIFAR (MiCE, appendix D).
"""

from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

CHANNELS_LAST = torch.channels_last
Backbone = Literal["resnet34", "resnet18", "medium", "small"]

# Blocks of each stage, and the channels of the first stage; each later stage has twice as many.
STAGES: dict[str, tuple[tuple[int, ...], int]] = {
    "resnet34": ((3, 4, 6, 3), 64),
    "resnet18": ((2, 2, 2, 2), 64),
    "medium": ((1, 1, 1), 64),  # 1.2 million weights
    "small": ((1, 1, 1), 32),  # for 28x28 and one channel: 0.3 million weights
}


class ResNet(nn.Module):
    """Images (M, channels, H, W), normalised -> (M, width)."""

    def __init__(self, backbone: Backbone = "resnet34", channels: int = 3) -> None:
        super().__init__()
        if backbone not in STAGES:
            raise ValueError(f"unknown backbone {backbone!r}; known: {get_args(Backbone)}")
        depths, first = STAGES[backbone]
        self.stem = nn.Conv2d(channels, first, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(first)
        blocks: list[nn.Module] = []
        inner = first
        for stage, depth in enumerate(depths):
            for number in range(depth):
                stride = 2 if stage and not number else 1
                blocks.append(Block(inner, first << stage, stride))
                inner = first << stage
        self.blocks = nn.Sequential(*blocks)
        self.width = inner
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                # As GPUs read images fastest.
                module.weight.data = module.weight.data.contiguous(memory_format=CHANNELS_LAST)

    def forward(self, images: Tensor) -> Tensor:
        """(M, channels, H, W) -> (M, width)."""
        images = images.contiguous(memory_format=CHANNELS_LAST)
        return self.blocks(relu(self.norm(self.stem(images)))).mean((2, 3))


class Block(nn.Module):
    """Two 3x3 convolutions beside a short cut, which is a 1x1 one where the shape changes."""

    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inner, outer, 3, stride, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(outer)
        self.second = nn.Conv2d(outer, outer, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(outer)
        self.short_cut: nn.Module = nn.Identity()
        if stride > 1 or inner != outer:
            self.short_cut = nn.Sequential(
                nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
            )

    def forward(self, images: Tensor) -> Tensor:
        """(M, inner, H, W) -> (M, outer, H / stride, W / stride)."""
        hidden = relu(self.first_norm(self.first(images)))
        return relu(self.second_norm(self.second(hidden)) + self.short_cut(images))
