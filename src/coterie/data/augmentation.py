"""Random views of images, in batches on their device.

Geometry is one `grid_sample`, colour is one 3x3 matrix and one offset per image: a dozen kernels
for a batch, which a GPU runs in parallel with the training step on the previous batch. Other
libraries draw their parameters image by image, or on the host.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.functional import affine_grid, grid_sample, interpolate, max_pool2d

GREY = (0.299, 0.587, 0.114)
# Luma and two axes of chroma (YIQ): a rotation of the chroma plane changes the hue.
YIQ = (GREY, (0.5959, -0.2746, -0.3213), (0.2115, -0.5227, 0.3112))


@dataclass(frozen=True)
class PhotoViews:
    """Views of photographs: MoCo's, as the authors of MiCE set them.

    crop: the smallest area of a crop; brightness, contrast, saturation: the largest deviation of
    the factors from 1; hue: the largest rotation, in turns; jitter: the share of images with
    changed colours; grey: the share converted to grey.
    """

    crop: float = 0.2
    brightness: float = 0.4
    contrast: float = 0.4
    saturation: float = 0.4
    hue: float = 0.4
    jitter: float = 1.0
    grey: float = 0.2

    def __call__(self, images: Tensor, generator: Generator) -> Tensor:
        """(M, 3, H, W) in [0, 1] -> views of the same shape."""
        cropped = resample(images, _crops(len(images), self.crop, generator), border=True)
        return _colours(cropped, self, generator)


@dataclass(frozen=True)
class DigitViews:
    """Views of handwriting: small rotations, shears, scalings, shifts and warps, thicker strokes.

    Nothing is mirrored and little is cut off, because half a seven looks like a one. rotation: in
    degrees; shear, scale and shift: relative to the image size; warp: displacements of a coarse
    grid, relative to the image size; thick: the share of images with strokes thickened by a random
    amount; erase: the share that lose a square whose side is erase_size of the image's.
    """

    rotation: float = 20.0
    shear: float = 0.3
    scale: float = 0.2
    shift: float = 0.08
    warp: float = 0.06
    warp_cells: int = 4
    thick: float = 0.5
    erase: float = 0.0
    erase_size: float = 0.3

    def __call__(
        self,
        images: Tensor,
        generator: Generator,
        *,
        strength: Tensor | float = 1.0,
        displaced: Tensor | None = None,
    ) -> Tensor:
        """(M, 1, H, W) in [0, 1] -> views of the same shape.

        strength: a factor of all movements, for each image (M,) or for all; displaced: a further
        displacement of the pixels (M, H, W, 2), in image coordinates, which run from -1 to 1.
        """
        draw = _Uniform(len(images), generator)
        if self.thick:
            share = (draw(0, 1) * (draw(0, 1) < self.thick)).view(-1, 1, 1, 1)
            images = torch.lerp(images, max_pool2d(images, 3, 1, 1), share)
        turn = draw(-1, 1) * math.radians(self.rotation) * strength
        slant = draw(-1, 1) * self.shear * strength
        wide, high = (1 + draw(-1, 1) * self.scale * strength for _ in range(2))
        maps = torch.stack(
            [
                torch.stack([turn.cos() * wide, slant - turn.sin()], 1),
                torch.stack([turn.sin(), turn.cos() * high], 1),
            ],
            1,
        )
        shift = draw(-1, 1, 2) * 2 * self.shift  # image coordinates run from -1 to 1
        shift = shift * _for_axes(strength, 2)
        if self.warp:
            cells = draw(-1, 1, 2, self.warp_cells, self.warp_cells) * 2 * self.warp
            cells = cells * _for_axes(strength, 4)
            own = enlarged(cells, *images.shape[-2:]).movedim(1, -1)
            displaced = own if displaced is None else displaced + own
        affine = torch.cat([maps, shift[..., None]], 2)
        views = resample(images, affine, displaced, border=False)
        return _erased(views, self, draw) if self.erase else views


def _for_axes(strength: Tensor | float, n_axes: int) -> Tensor | float:
    """Numbers of M images (M,), to be multiplied by a tensor of so many axes."""
    if not isinstance(strength, Tensor):
        return strength
    return strength.view(-1, *[1] * (n_axes - 1))


class _Uniform:
    """Uniform numbers for each of M images."""

    def __init__(self, n_images: int, generator: Generator) -> None:
        self.n_images, self.generator = n_images, generator

    def __call__(self, low: float, high: float, *shape: int) -> Tensor:
        device = self.generator.device
        drawn = torch.rand(self.n_images, *shape, generator=self.generator, device=device)
        return drawn * (high - low) + low


def enlarged(cells: Tensor, height: int, width: int) -> Tensor:
    """Coarse grids (M, C, h, w) as bicubic surfaces (M, C, height, width), corners aligned.

    Computed as two matrix products: on a GPU `interpolate` starts one thread per pixel, which loops
    over all M images.
    """
    down = _cubic_weights(cells.shape[-2], height, cells.device)
    across = _cubic_weights(cells.shape[-1], width, cells.device)
    return down.T @ cells @ across


@cache
def _cubic_weights(n_cells: int, size: int, device: torch.device) -> Tensor:
    """The weight of each cell of a row in each of its pixels: (n_cells, size)."""
    each = torch.eye(n_cells).view(1, n_cells, n_cells, 1)
    surfaces = interpolate(each, (size, 1), mode="bicubic", align_corners=True)
    return surfaces.view(n_cells, size).to(device)


def resample(
    images: Tensor, affine: Tensor, displaced: Tensor | None = None, *, border: bool
) -> Tensor:
    """Images (M, C, H, W) sampled under affine maps (M, 2, 3) plus displacements (M, H, W, 2).

    border: whether an image is continued beyond its edge by the edge value or by zero.
    """
    grid = affine_grid(affine, list(images.shape), align_corners=False)
    if displaced is not None:
        grid = grid + displaced
    padding = "border" if border else "zeros"
    return grid_sample(images, grid, padding_mode=padding, align_corners=False)


def _crops(n_images: int, least: float, generator: Generator) -> Tensor:
    """Crops of random area, aspect ratio and position, half of them mirrored: (M, 2, 3)."""
    draw = _Uniform(n_images, generator)
    area, shape = draw(least, 1), draw(math.log(3 / 4), math.log(4 / 3)).exp()
    wide, high = ((area * shape).sqrt().clamp(max=1), (area / shape).sqrt().clamp(max=1))
    mirror = 1 - 2 * (draw(0, 1) < 0.5).float()
    nothing = torch.zeros_like(wide)
    return torch.stack(
        [
            torch.stack([wide * mirror, nothing, draw(-1, 1) * (1 - wide)], 1),
            torch.stack([nothing, high, draw(-1, 1) * (1 - high)], 1),
        ],
        1,
    )


def _colours(images: Tensor, how: PhotoViews, generator: Generator) -> Tensor:
    """Brightness, contrast, saturation, hue and grey in one matrix product per image."""
    draw = _Uniform(len(images), generator)
    changed = (draw(0, 1) < how.jitter).float()
    brightness, contrast, saturation = (
        1 + changed * draw(-reach, reach)
        for reach in (how.brightness, how.contrast, how.saturation)
    )
    turn = changed * draw(-how.hue, how.hue) * 2 * math.pi
    grey = (draw(0, 1) < how.grey).float()[:, None, None]
    matrix = _colour_matrix(turn, saturation, grey)
    luma = _chroma(images.device).to_yiq[0]
    offset = (1 - contrast) * brightness * (images.mean((2, 3)) @ luma)  # about the mean grey
    matrix = matrix * (brightness * contrast)[:, None, None]
    mixed = torch.baddbmm(offset[:, None, None], matrix, images.flatten(2))
    return mixed.view_as(images).clamp(0, 1)


def _colour_matrix(turn: Tensor, saturation: Tensor, grey: Tensor) -> Tensor:
    """Saturation, then hue, then grey where it is 1: (M,), (M,), (M, 1, 1) -> (M, 3, 3)."""
    to_yiq, back = _chroma(turn.device)
    one, nothing = torch.ones_like(turn), torch.zeros_like(turn)
    rotation = torch.stack(
        [
            torch.stack([one, nothing, nothing], 1),
            torch.stack([nothing, turn.cos(), -turn.sin()], 1),
            torch.stack([nothing, turn.sin(), turn.cos()], 1),
        ],
        1,
    )
    to_grey = to_yiq[:1].expand(3, 3)
    same = torch.eye(3, device=turn.device)
    saturated = torch.lerp(to_grey, same, saturation[:, None, None])
    matrix = back @ rotation @ to_yiq @ saturated
    return torch.lerp(matrix, to_grey @ matrix, grey)


class _Chroma(NamedTuple):
    """Red, green, blue to YIQ and back: (3, 3) each."""

    to_yiq: Tensor
    back: Tensor


@cache
def _chroma(device: torch.device) -> _Chroma:
    # Cached: a captured step cannot copy constants from the host.
    to_yiq = torch.tensor(YIQ, dtype=torch.float64)
    return _Chroma(*(each.float().to(device) for each in (to_yiq, torch.linalg.inv(to_yiq))))


def _erased(images: Tensor, how: DigitViews, draw: _Uniform) -> Tensor:
    """Images of which some lose a randomly placed square."""
    height, width = images.shape[-2:]
    rows = torch.arange(height, device=images.device) / height
    columns = torch.arange(width, device=images.device) / width
    top, left = draw(0, 1 - how.erase_size, 1), draw(0, 1 - how.erase_size, 1)
    row = (rows >= top) & (rows < top + how.erase_size)
    column = (columns >= left) & (columns < left + how.erase_size)
    lost = row[:, :, None] & column[:, None, :] & (draw(0, 1, 1, 1) < how.erase)
    return images * ~lost[:, None]
