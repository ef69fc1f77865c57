"""Arrays of images as rows of pixels, in the size and range that a network was trained on."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import interpolate, max_pool2d

INK = 1.6  # restores the contrast of thin strokes that a smaller image averages away
BRIGHT = 0.5  # a page that is brighter on average is dark ink on white paper
CHUNK = 2000


class ImageRows(NamedTuple):
    """Images as rows of pixels (n, C H W) in [0, 1], and remarks on what was changed."""

    rows: NDArray[np.float32]
    notes: tuple[str, ...] = ()


def image_rows(X: Any, image: tuple[int, ...]) -> ImageRows:
    """Images for a network that reads the shape image = (C, H, W).

    X may be (n, H, W) for one channel, (n, C, H, W), (n, H, W, C), or rows (n, C H W); integers
    of 0 to 255, booleans, or numbers of 0 to 1. Other sizes are scaled.
    """
    array = _numbers(X)
    pixels, notes = _in_range(_as_images(array, image)), []
    if pixels.shape[2:] != image[1:]:
        notes.append(
            f"images of {pixels.shape[2]} x {pixels.shape[3]} pixels are scaled to"
            f" {image[1]} x {image[2]}, which the network reads"
        )
        pixels = scaled(pixels, image[1], image[2])
    return ImageRows(pixels.reshape(len(pixels), -1), tuple(notes))


def scaled(pixels: NDArray[np.float32], height: int, width: int) -> NDArray[np.float32]:
    """Images (n, C, H, W) in [0, 1] in another size: (n, C, height, width).

    Where grey ones become much smaller, strokes are made thicker first and brighter afterwards: a
    third of a pixel would be left of a thin one.
    """
    spread = min(pixels.shape[2] / height, pixels.shape[3] / width)
    reach = int(spread / 2.5) if pixels.shape[1] == 1 else 0  # photographs have no strokes
    bright = pixels.mean() > BRIGHT  # then the ink is dark
    parts = []
    for start in range(0, len(pixels), CHUNK):
        part = torch.from_numpy(np.ascontiguousarray(pixels[start : start + CHUNK]))
        if not reach:
            smooth = interpolate(part, (height, width), mode="bilinear", antialias=True)
            parts.append(smooth.clamp(0, 1).numpy())
            continue
        ink = max_pool2d(1 - part if bright else part, 2 * reach + 1, 1, reach)
        grey = (interpolate(ink, (height, width), mode="area") * INK).clamp(0, 1)
        parts.append((1 - grey if bright else grey).numpy())
    return np.concatenate(parts)


def _numbers(X: Any) -> NDArray:
    try:
        array = np.asarray(X)
        if array.dtype.kind == "c":  # which would lose their imaginary part
            raise ValueError("its numbers are complex")
        if array.dtype.kind not in "biuf":
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"X must be an array of images: {error}") from error
    if not array.size:
        raise ValueError(f"X must hold at least one image, got shape {array.shape}")
    return array


def _as_images(array: NDArray, image: tuple[int, ...]) -> NDArray:
    """(n, C, H, W) of whatever order the axes have; errors say what does not fit."""
    channels, height, width = image
    wanted = f"these weights read images of {_counted(channels)}"
    if array.ndim == 2:
        if array.shape[1] != channels * height * width:
            raise ValueError(
                f"{wanted} and {height} x {width} pixels, that is {channels * height * width}"
                f" numbers a row; X has {array.shape[1]}: give images (n, H, W)"
            )
        return array.reshape(-1, *image)
    if array.ndim == 3 and channels == 1:
        return array[:, None]
    if array.ndim == 4 and array.shape[1] == channels:
        return array
    if array.ndim == 4 and array.shape[3] == channels:
        return np.moveaxis(array, 3, 1)
    if array.ndim == 4:
        # The shortest of the axes that may hold the channels does.
        found = min(array.shape[1], array.shape[3])
        raise ValueError(f"{wanted}, X has {found}: shape {array.shape}; {_remedy(channels)}")
    if array.ndim == 3:
        raise ValueError(f"{wanted}, X has 1: shape {array.shape}; {_remedy(channels)}")
    raise ValueError(f"{wanted}: X must be (n, H, W) or (n, C, H, W), got shape {array.shape}")


def _counted(channels: int) -> str:
    return "1 channel" if channels == 1 else f"{channels} channels"


def _remedy(channels: int) -> str:
    if channels == 1:
        return "make them grey first, for instance by X.mean(-1)"
    return "repeat grey images in each channel"


def _in_range(pixels: NDArray) -> NDArray[np.float32]:
    """Pixels in [0, 1]: bytes and booleans by their kind, other numbers by their range."""
    if pixels.dtype.kind == "b":
        return pixels.astype(np.float32)
    if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
        number = int(np.argwhere(~np.isfinite(pixels))[0][0])
        raise ValueError(f"Input X contains NaN or infinity: image {number}")
    low, high = float(pixels.min()), float(pixels.max())
    if low < 0 or high > 255:
        raise ValueError(f"pixels must lie between 0 and 1 or 0 and 255, X has {low:g} to {high:g}")
    whole = pixels.dtype == np.uint8 or high > 1
    return (pixels / 255 if whole else pixels).astype(np.float32)
