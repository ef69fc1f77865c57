"""An unlabelled collection of images, sampled in epochs of augmented views."""

import hashlib
import io
import lzma
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from coterie.data.augmentation import DigitViews, PhotoViews
from coterie.data.batch import SetBatch
from coterie.data.images import pillow

_HELD: dict[str, NDArray[np.uint8]] = {}
_HOLDERS: Counter[str] = Counter()
FOLDER = "COTERIE_DATA"  # the environment variable that names the folder of the public collections


class LabelledImages(NamedTuple):
    """Images (n, C, H, W) uint8, labels (n,); the first n_train are the training split.

    The labels are used for scores alone.
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    n_train: int


@dataclass(frozen=True)
class ImageCollection:
    """The images of a collection in epochs, each image at most once per epoch.

    name: a collection known to `open_collection`, or that of held images; n_images: how many to
    use, from the first on; batch: the number of images in a step; n_views: the number of views of
    each image; views: the augmentation.
    """

    name: str
    n_images: int
    views: PhotoViews | DigitViews
    n_views: int = 3
    batch: int = 256
    seed: int = 0

    @property
    def steps_per_epoch(self) -> int:
        """The number of full batches."""
        return self.n_images // self.batch

    def sample(self, n_sets: int, generator: Generator, clock: Tensor) -> SetBatch:
        """The views of one step: points (1, batch, n_views, C, H, W) in [0, 1].

        Several sets would be equivalent to a larger `batch`, so n_sets must be 1.
        """
        if n_sets != 1:
            raise ValueError(f"a collection is a single set: n_sets must be 1, got {n_sets}")
        images = _on_device(self.name, self.n_images, generator.device)
        chosen = images[epoch_order(self, clock)].float() / 255
        shape = (self.batch, self.n_views, *chosen.shape[1:])
        repeated = chosen[:, None].expand(shape).flatten(0, 1)
        points = self.views(repeated, generator).view(1, *shape)
        mask = torch.ones(1, self.batch, dtype=torch.bool, device=generator.device)
        return SetBatch(points, mask)


def epoch_order(source: ImageCollection, clock: Tensor) -> Tensor:
    """The indices (batch,) of a step's images: its part of the random order of its epoch.

    The order is a function of the seed and the epoch, without stored state: a resumed run and a
    captured step, which reads the clock on its device, use the same images.
    """
    epoch, step = clock // source.steps_per_epoch, clock % source.steps_per_epoch
    numbers = torch.arange(source.n_images, device=clock.device)
    order = _scrambled(numbers + source.n_images * (epoch + (source.seed << 20))).argsort()
    return order[step * source.batch + numbers[: source.batch]]


def _scrambled(numbers: Tensor) -> Tensor:
    """A pseudo-random bijection of integers (n,) int64 (splitmix64)."""
    numbers = (numbers + 1) * -7046029254386353131
    for shift, factor in ((30, -4658895280553007687), (27, -7723592293110705685), (31, 1)):
        # int64 is signed: the bits shifted in from the left must be masked to zero.
        numbers = (numbers ^ ((numbers >> shift) & ((1 << (64 - shift)) - 1))) * factor
    return numbers


@lru_cache(maxsize=2)
def _on_device(name: str, n_images: int, device: torch.device) -> Tensor:
    images = _HELD[name] if name in _HELD else open_collection(name).images
    if len(images) < n_images:
        raise ValueError(f"{name} has {len(images)} images, not {n_images}")
    return torch.from_numpy(images[:n_images]).to(device)


@contextmanager
def held(images: NDArray[np.uint8]) -> Iterator[str]:
    """Make images (n, C, H, W) in memory a collection while inside; gives its name.

    The name is a digest of the images, so a run on them is not resumed on others.
    """
    digest = hashlib.sha256(str(images.shape).encode())
    digest.update(np.ascontiguousarray(images).data)
    name = f"images-{digest.hexdigest()[:16]}"
    _HELD[name] = images
    _HOLDERS[name] += 1  # several threads may train on the same images
    try:
        yield name
    finally:
        _HOLDERS[name] -= 1
        if not _HOLDERS[name]:
            del _HOLDERS[name], _HELD[name]
            _on_device.cache_clear()


@cache
def open_collection(name: str) -> LabelledImages:
    """A public collection, read from the folder in COTERIE_DATA."""
    if name not in LOADERS:
        raise ValueError(f"unknown collection {name!r}; known: {', '.join(sorted(LOADERS))}")
    return LOADERS[name](data_folder(name))


def data_folder(name: str) -> Path:
    """The folder in COTERIE_DATA, which contains the collection of that name."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        raise ValueError(f"set {FOLDER} to the folder that contains {name}")
    return Path(folder)


def _mnist(folder: Path) -> LabelledImages:
    with np.load(folder / "mnist.npz") as file:
        images = np.concatenate([file["x_train"], file["x_test"]])[:, None]
        labels = np.concatenate([file["y_train"], file["y_test"]])
        return LabelledImages(images, labels.astype(np.int64), len(file["y_train"]))


def _cifar10(folder: Path) -> LabelledImages:
    decoded = folder / "cifar10.npz"  # a decoded copy, which loads faster
    if decoded.exists():
        with np.load(decoded) as file:
            return LabelledImages(file["images"], file["labels"], 50_000)
    parts = [_cifar10_part(folder / f"cifar10_{part}.npz.xz") for part in (1, 2)]
    images, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
    return LabelledImages(images, labels.astype(np.int64), 50_000)


def _cifar10_part(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images (n, 3, 32, 32) and labels of a file of prediction residuals.

    The file stores green, red - green and blue - green minus their prediction by the median edge
    detector; decoding goes pixel by pixel, for all images at once.
    """
    with lzma.open(path) as packed, np.load(io.BytesIO(packed.read())) as file:
        residuals, labels = file["res"], file["y"]
    residuals = np.ascontiguousarray(residuals.transpose(2, 3, 0, 1)).astype(np.int16)
    planes = np.zeros_like(residuals)  # (row, column, plane, image)
    for row, column in np.ndindex(residuals.shape[:2]):
        left = planes[row, column - 1] if column else 0
        above = planes[row - 1, column] if row else 0
        if row and column:
            corner = planes[row - 1, column - 1]
            low, high = np.minimum(left, above), np.maximum(left, above)
            straight = left + above - corner
            predicted = np.where(corner >= high, low, np.where(corner <= low, high, straight))
        else:
            predicted = left if column else above
        values = (predicted + residuals[row, column]) & 255
        values[1:] = ((values[1:] + 128) & 255) - 128  # differences are signed
        planes[row, column] = values
    green = planes[:, :, 0]
    colours = np.stack([(planes[:, :, 1] + green) & 255, green, (planes[:, :, 2] + green) & 255])
    return np.ascontiguousarray(colours.transpose(3, 0, 1, 2).astype(np.uint8)), labels


def _tiny_imagenet(folder: Path) -> LabelledImages:
    """The subset of 60 training images and 15 validation images a class, 64 pixels each way."""
    library = pillow()
    with np.load(folder / "tiny_imagenet_subset.npz") as file:
        encoded, offset, labels = file["jpeg"].tobytes(), file["offset"], file["y"]
        order = np.argsort(file["is_val"], kind="stable")
        n_train = int((~file["is_val"]).sum())
    images = np.empty((len(labels), 3, 64, 64), dtype=np.uint8)
    for place, number in enumerate(order):
        content = io.BytesIO(encoded[offset[number] : offset[number + 1]])
        with library.Image.open(content) as image:
            images[place] = np.asarray(image.convert("RGB")).transpose(2, 0, 1)
    return LabelledImages(images, labels[order].astype(np.int64), n_train)


LOADERS: dict[str, Callable[[Path], LabelledImages]] = {
    "cifar10": _cifar10,
    "mnist": _mnist,
    "tinyimagenet": _tiny_imagenet,
}
