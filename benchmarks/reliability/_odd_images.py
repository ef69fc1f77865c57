"""Odd images, and what is none: axes, types, sizes and pixels, seeded."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.random import Generator
from numpy.typing import NDArray

from reliability._odd_arrays import Maker

# Images of a set are few in most attempts; sides are those of the small networks in most.
COUNTS, SIDES = (1, 2, 3, 5, 8, 15, 16, 17, 40), (8, 8, 8, 8, 8, 28, 28, 1, 3, 7, 9)
WRONG = (np.nan, np.inf, -np.inf, 1.1, -0.1, 255.0, 1e38, -1e300, 5e-324)
DTYPES = ("f2", "f4", "f8", "g", "?", "i1", "i2", "i8", "u2", "u8", ">f4", ">u2")
FOREIGN = ("c8", "U5", "S5", "O", "M8[s]")


def pixels(random: Generator) -> NDArray[np.float64]:
    """Images (n, H, W) in [0, 1] of a few kinds."""
    count, side = int(random.choice(COUNTS)), int(random.choice(SIDES))
    kinds = random.random((int(random.integers(1, 4)), side, side)) ** 3
    chosen = kinds[random.integers(len(kinds), size=count)]
    return np.clip(chosen + 0.05 * random.normal(size=chosen.shape), 0.0, 1.0)


def _bytes(random: Generator) -> NDArray[np.uint8]:
    return (255 * pixels(random)).astype(np.uint8)


def _typed(random: Generator) -> NDArray:
    images, dtype = pixels(random), str(random.choice(DTYPES))
    whole = np.rint(images * random.choice((1, 127, 255, 300)))
    with np.errstate(all="ignore"):
        return (images if "f" in dtype or dtype == "g" else whole).astype(dtype)


def _channels(random: Generator) -> NDArray:
    """One to four channels, in front or behind."""
    images, count = _bytes(random), int(random.choice((1, 1, 3, 3, 2, 4, 0)))
    return np.stack([images] * count, -1 if random.random() < 0.5 else 1) if count else images[None]


def _wrong(random: Generator) -> NDArray:
    images = pixels(random)
    places = random.integers(images.size, size=int(random.integers(1, 1 + images.size)))
    images.reshape(-1)[places] = random.choice(WRONG)
    return images


def _blank(random: Generator) -> NDArray:
    """All images alike: black, white, of one grey, or copies."""
    images = pixels(random)
    images[:] = random.choice((0.0, 1.0, 0.5)) if random.random() < 0.7 else images[:1]
    return images


def _shaped(random: Generator) -> NDArray:
    images = _bytes(random)
    shapes = (
        *(images[:0], images[:, :0], images[:, :, :0], images[0], images[0, 0], images[:, 0]),
        *(images[None], images[..., None, None], images[:, :, :3], images[:, ::2], images.T),
        np.repeat(images[:2, :, :1], 300, 2),
    )
    return shapes[int(random.integers(len(shapes)))]


def _flat(random: Generator) -> Any:
    """Rows of pixels, as arrays and frames."""
    images = pixels(random)
    rows = images.reshape(len(images), -1) * random.choice((1, 1, 255))
    return pd.DataFrame(rows) if random.random() < 0.5 else rows


def _laid_out(random: Generator) -> NDArray:
    images = pixels(random)
    frozen = images.copy()
    frozen.flags.writeable = False
    layouts = (frozen, np.asfortranarray(images), images[::-1], images[:, ::-1], images[:, :, ::-1])
    return layouts[int(random.integers(len(layouts)))]


def _other(random: Generator) -> Any:
    """Lists, tensors, other types, images of several sizes, and what is no image."""
    images = pixels(random)
    tensor = torch.from_numpy(images)
    others: tuple[Any, ...] = (
        *(list(images), images.tolist(), tuple(images), [*images, images[0][:-1]], [*images, None]),
        *(tensor, tensor.half(), tensor.bfloat16(), tensor.requires_grad_(), tensor.to_sparse()),
        *(np.ma.masked_greater(images, 0.5), pd.Series(list(images)), pd.DataFrame({"a": [1]})),
        *(None, "digits.npz", b"\x89PNG", object(), {"images": images}, [], [[]], iter(images)),
        *(images.astype(str(kind)) if kind != "M8[s]" else images.astype("i8").astype("M8[s]")
          for kind in FOREIGN),
    )  # fmt: skip
    return others[int(random.integers(len(others)))]


IMAGES: dict[str, Maker] = {
    "images": pixels,
    "images of bytes": _bytes,
    "number types of images": _typed,
    "channels of images": _channels,
    "wrong pixels": _wrong,
    "blank images": _blank,
    "shapes of images": _shaped,
    "images as rows": _flat,
    "layouts of images": _laid_out,
    "other images and what is none": _other,
}
