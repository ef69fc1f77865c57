"""A small convolutional network for drawings and other small images, ending in one vector each.

Stages of two 3x3 convolutions, each with batch normalisation, as in the networks that transfer
clustering across alphabets (Hsu et al. 2019; DAC, section 6.3).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from coterie.functional.repeats import find_repeats

CHANNELS_LAST = torch.channels_last
Module = TypeVar("Module", bound=nn.Module)


class ConvEncoder(nn.Module):
    """Images (M, C, H, W) in [0, 1] -> vectors (M, width) of length sqrt(width).

    Four neighbouring pixels become channels of one first, so that the first stage, at half the
    resolution, costs little.
    """

    def __init__(self, image: Sequence[int], channels: Sequence[int], width: int) -> None:
        super().__init__()
        deep, height, across = image
        shrink = 2 ** len(channels)
        if height < shrink or across < shrink or height % 2 or across % 2:
            raise ValueError(
                f"{len(channels)} stages need images of an even side of at least {shrink} pixels,"
                f" got {tuple(image)}"
            )
        self.image, self.channels, self.width = tuple(image), tuple(channels), width
        layers: list[nn.Module] = [nn.PixelUnshuffle(2)]
        for stage, (before, after) in enumerate(pairwise((4 * deep, *channels))):
            layers += [nn.MaxPool2d(2)] if stage else []
            layers += [*_convolution(before, after), *_convolution(after, after)]
        self.stages = nn.Sequential(*layers)
        self.out = nn.Linear(channels[-1] * (height // shrink) * (across // shrink), width)

    def forward(self, images: Tensor) -> Tensor:
        """(M, C, H, W) -> (M, width)."""
        if images.shape[1:] != self.image:
            raise ValueError(f"images must be {self.image}, got {tuple(images.shape[1:])}")
        seen = self.stages(images.to(self.out.weight.dtype).contiguous(memory_format=CHANNELS_LAST))
        vectors = self.out(seen.flatten(1))
        if vectors.dtype == torch.bfloat16:  # whose third digit already tells clusters apart
            vectors = vectors.float()
        return normalize(vectors, dim=-1) * self.width**0.5

    def adapted(self, images: Tensor) -> "ConvEncoder":
        """The same encoder with the batch statistics of images (M, C, H, W) of another kind."""
        other = ConvEncoder(self.image, self.channels, self.width)
        return copy_adapted(self, other.to(self.out.weight), images)


@torch.no_grad()
def copy_adapted(encoder: Module, other: Module, images: Tensor) -> Module:
    """The weights of an encoder in a fresh one, with the batch statistics of images (M, C, H, W).

    In training the statistics are those of the sets at hand; images of another alphabet have others
    than the average ones that training leaves (AdaBN, Li et al. 2016). The result still maps each
    image alone.
    """
    other.eval().load_state_dict(encoder.state_dict())  # no copy of `forward`: it may be compiled
    norms = [cast(nn.BatchNorm2d, each) for each in other.modules() if _is_norm(each)]
    first, kind = find_repeats(images)
    hooks = []
    for norm in norms:
        norm.train()
        norm.momentum = 1.0  # nothing of the old statistics stays
        # Images that are there many times count as often, and pass the convolutions once.
        hooks.append(norm.register_forward_pre_hook(lambda _, given: (given[0][kind],)))
        hooks.append(norm.register_forward_hook(lambda _, __, found: found[first]))
    other(images[first])
    for hook in hooks:
        hook.remove()
    for norm, before in zip(norms, filter(_is_norm, encoder.modules()), strict=True):
        norm.eval()
        norm.momentum = cast(nn.BatchNorm2d, before).momentum
    return other


def _is_norm(module: nn.Module) -> bool:
    return isinstance(module, nn.BatchNorm2d)


def _convolution(before: int, after: int) -> tuple[nn.Module, ...]:
    convolution = nn.Conv2d(before, after, 3, padding=1, bias=False)
    # As GPUs read images fastest.
    weight = convolution.weight.data
    convolution.weight.data = weight.contiguous(memory_format=CHANNELS_LAST)
    return convolution, nn.BatchNorm2d(after), nn.ReLU()
