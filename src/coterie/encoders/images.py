"""The encoders of images by name, for systems that read sets of vectors."""

from collections.abc import Sequence
from typing import Any, Literal, cast, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from coterie.encoders.conv import ConvEncoder, copy_adapted
from coterie.encoders.resnet import Backbone, ResNet

IMAGES_AT_ONCE = 500
EncoderName = Literal["conv", "resnet34", "resnet18", "medium", "small"]


def make_encoder(
    name: EncoderName,
    image: Sequence[int],
    convolutions: Sequence[int],
    width: int,
    towers: Sequence[Sequence[int]] = (),
) -> "ItemEncoder":
    """The encoder of images (C, H, W) as vectors of a width; convolutions are those of "conv".

    towers: several networks called "conv" instead, as `JoinedEncoder` has them.
    """
    if towers:
        return JoinedEncoder(image, towers)
    if name == "conv":
        return ConvEncoder(image, convolutions, width)
    return ResNetEncoder(image, name, width)


class ResNetEncoder(nn.Module):
    """Images (M, C, H, W) in [0, 1] -> vectors (M, width) of length sqrt(width).

    The backbone is that of MiCE and MoCo, so that training may start from one of theirs; mean and
    std (C, 1, 1) are those of the pixels that it was made for. A linear layer follows where the
    backbone's own vectors are of another width. centre (width,): subtracted from the unit vectors,
    zero where the encoder has learnt from their angles.
    """

    mean: Tensor
    std: Tensor
    centre: Tensor

    def __init__(self, image: Sequence[int], backbone: Backbone, width: int) -> None:
        super().__init__()
        self.image, self.name, self.width = tuple(image), backbone, width
        self.backbone = ResNet(backbone, channels=self.image[0])
        same = self.backbone.width == width
        self.out = nn.Identity() if same else nn.Linear(self.backbone.width, width)
        self.register_buffer("mean", torch.full((self.image[0], 1, 1), 0.5))
        self.register_buffer("std", torch.full((self.image[0], 1, 1), 0.25))
        self.register_buffer("centre", torch.zeros(width))
        self.register_load_state_dict_pre_hook(_not_centred)

    def forward(self, images: Tensor) -> Tensor:
        """(M, C, H, W) -> (M, width)."""
        if images.shape[1:] != self.image:
            raise ValueError(f"images must be {self.image}, got {tuple(images.shape[1:])}")
        vectors = self.out(self.backbone((images.to(self.mean) - self.mean) / self.std))
        if vectors.dtype == torch.bfloat16:  # whose third digit already tells clusters apart
            vectors = vectors.float()
        return normalize(normalize(vectors, dim=-1) - self.centre, dim=-1) * self.width**0.5

    @torch.no_grad()
    def centre_on(self, images: Tensor) -> None:
        """Move the origin to the mean unit vector of images (M, C, H, W) of 8 bits."""
        self.eval()
        self.centre.zero_()
        parts = [self(part.float() / 255) for part in images.split(IMAGES_AT_ONCE)]
        self.centre.copy_(torch.cat(parts).mean(0) / self.width**0.5)

    def adapted(self, images: Tensor) -> "ResNetEncoder":
        """The same encoder with the batch statistics of images (M, C, H, W)."""
        other = ResNetEncoder(self.image, self.name, self.width)
        return copy_adapted(self, other.to(self.mean), images)

    def start_from(self, network: Any) -> None:
        """Take the backbone of a network that was trained without labels, and its pixels' scale.

        network: MoCo's or MiCE's `ImageNetwork`.
        """
        if not isinstance(network.backbone, ResNet):
            raise ValueError("the network has no residual backbone to start from")
        try:
            self.backbone.load_state_dict(network.backbone.state_dict())
        except RuntimeError as error:
            raise ValueError(
                f"its backbone is no {self.name!r} for {self.image[0]} channels"
            ) from error
        self.mean.copy_(cast(Tensor, network.mean))
        self.std.copy_(cast(Tensor, network.std))


def _not_centred(encoder: nn.Module, state: dict[str, Tensor], prefix: str, *_: object) -> None:
    """Weights from before there was a centre are not centred."""
    centre = cast(ResNetEncoder, encoder).centre
    state.setdefault(f"{prefix}centre", torch.zeros_like(centre))


class JoinedEncoder(nn.Module):
    """Images (M, C, H, W) in [0, 1] -> vectors (M, width) of length sqrt(width).

    The vectors of several encoders that learnt apart, side by side and of equal length. Where one
    takes images of two classes for neighbours, by a feature that told its own classes apart, the
    others seldom do. towers: the channels of each network's stages, and last its width.
    """

    def __init__(self, image: Sequence[int], towers: Sequence[Sequence[int]]) -> None:
        super().__init__()
        self.image = tuple(image)
        self.sizes = tuple(tuple(tower) for tower in towers)
        self.towers = nn.ModuleList(
            ConvEncoder(image, channels, width) for *channels, width in towers
        )
        self.width = sum(width for *_, width in towers)

    def forward(self, images: Tensor) -> Tensor:
        """(M, C, H, W) -> (M, width)."""
        units = [normalize(tower(images), dim=-1) for tower in self.towers]
        return torch.cat(units, -1) * (self.width / len(units)) ** 0.5

    def adapted(self, images: Tensor) -> "JoinedEncoder":
        """The same encoder with the batch statistics of images (M, C, H, W)."""
        return copy_adapted(self, JoinedEncoder(self.image, self.sizes).to(images), images)


ItemEncoder = ConvEncoder | ResNetEncoder | JoinedEncoder
ENCODERS: tuple[EncoderName, ...] = get_args(EncoderName)
