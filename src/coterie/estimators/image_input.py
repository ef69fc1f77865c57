"""Images as an estimator takes them, checked: arrays of pixels of one size."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.estimators.checks import as_array

CHANNELS = (1, 3)
LEAST_SIDE = 4  # pixels
FORMS = "(n, H, W), (n, H, W, C) or (n, C, H, W) with one or three channels C"


def as_images(X: Any) -> NDArray[np.uint8]:
    """X as images (n, C, H, W) of 8 bits.

    X: (n, H, W), (n, H, W, C) or (n, C, H, W), of whole numbers 0 to 255, floats in [0, 1] or
    booleans.
    """
    if np.ma.isMaskedArray(X):
        raise ValueError("X is a masked array, whose masked pixels would count: fill them")
    if hasattr(X, "columns") and not hasattr(X, "__cuda_array_interface__"):
        raise ValueError(f"X is a table; MiCE clusters images: {FORMS}")
    try:
        array = np.asarray(as_array(X))
    except ValueError as error:
        raise ValueError(f"X must be images of one size, as an array {FORMS}: {error}") from error
    return np.ascontiguousarray(_large_enough(_channels_first(_eight_bits(_checked(array)))))


def _checked(array: NDArray[Any]) -> NDArray[Any]:
    """The array, if it has as many axes as images have."""
    if array.dtype == object or array.dtype.kind in "SUmMcV":
        raise ValueError(f"X must be pixels of images of one size, got dtype {array.dtype}")
    if array.ndim not in (3, 4):
        table = "; for a table of vectors use AMCP" if array.ndim == 2 else ""
        raise ValueError(f"X must be images {FORMS}, got shape {array.shape}{table}")
    if 0 in array.shape:
        raise ValueError(f"X has no images: its shape is {array.shape}")
    return array


def _channels_first(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if array.ndim == 3:
        return array[:, None]
    first, last = array.shape[1] in CHANNELS, array.shape[3] in CHANNELS
    if first and last:
        raise ValueError(
            f"X has shape {array.shape}: the second and the last axis could both be channels"
        )
    if not first and not last:
        raise ValueError(f"X must have one or three channels, {FORMS}, got shape {array.shape}")
    return array.transpose(0, 3, 1, 2) if last else array


def _large_enough(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width = array.shape[2:]
    if min(height, width) < LEAST_SIDE:
        raise ValueError(f"images of {height} x {width} pixels are too small: {LEAST_SIDE} or more")
    return array


def _eight_bits(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Pixels as whole numbers 0 to 255."""
    if array.dtype == np.uint8:
        return array
    if array.dtype == bool:
        return array.astype(np.uint8) * np.uint8(255)
    whole = array.dtype.kind in "iu"
    most = 255 if whole else 1
    low, high = array.min(), array.max()
    if not (low >= 0 and high <= most):  # neither holds for NaN
        _refuse_pixels(array, most)
    if whole:
        return array.astype(np.uint8)
    return np.rint(np.asarray(array, dtype=np.float32) * 255).astype(np.uint8)


def _refuse_pixels(array: NDArray[Any], most: int) -> None:
    wrong = ~((array >= 0) & (array <= most))
    number = int(np.argmax(wrong.reshape(len(array), -1).any(1)))
    value = array[number][wrong[number]][0]
    kind = "whole numbers must lie in 0 to 255" if most == 255 else "floats must lie in [0, 1]"
    raise ValueError(f"X has the pixel {value} in image {number}: {kind} and not be NaN")


def refuse_other_shape(images: NDArray[np.uint8], item_shape: tuple[int, ...]) -> None:
    """Raise unless images (n, C, H, W) have the shape (C, H, W) of training, -1 for any."""
    found = images.shape[1:]
    if found[0] != item_shape[0]:
        raise ValueError(
            f"images of {_channels(found[0])}, the network was trained on"
            f" {_channels(item_shape[0])}"
        )
    if any(known not in (-1, own) for own, known in zip(found[1:], item_shape[1:], strict=True)):
        raise ValueError(
            f"images of {found[1]} x {found[2]} pixels, the network was trained on"
            f" {item_shape[1]} x {item_shape[2]}: resize them"
        )


def brightness_note(images: NDArray[np.uint8], mean: float, std: float) -> str | None:
    """A warning where images are much brighter or darker than those of training."""
    own = float(images.mean()) / 255
    if abs(own - mean) <= 1.5 * std:
        return None
    return (
        f"the pixels average {own:.2f}, in training {mean:.2f}: the clusters may be meaningless;"
        " are dark and light swapped?"
    )


def _channels(number: int) -> str:
    return "one channel" if number == 1 else f"{number} channels"
