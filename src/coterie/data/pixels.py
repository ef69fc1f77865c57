"""The images of a folder as pixels of one size, for networks that read images."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.data.images import SUFFIXES, image_files, read_image, written_name
from coterie.data.tables.table import SourceError


class Pixels(NamedTuple):
    """Images (n, C, H, W), their files and names relative to the folder, and what was changed."""

    images: NDArray[np.uint8]
    files: list[Path]
    names: list[str]
    notes: tuple[str, ...] = ()


def read_pixels(folder: Path, shape: tuple[int, int, int]) -> Pixels:
    """Read all images of a folder and its subfolders, sorted by name, at a shape (C, H, W).

    An image of another size is resized to it, whatever its proportions; colours become grey where
    there is one channel.
    """
    if not folder.is_dir():
        raise SourceError(f"{folder} is not a folder of images, which these weights need")
    files = image_files(folder)
    if not files:
        raise SourceError(f"{folder} is a folder without images ({', '.join(SUFFIXES)})")
    read = [_pixels(path, shape) for path in files]
    names = [written_name(path.relative_to(folder).as_posix()) for path in files]
    notes = _resized(sum(each.resized for each in read), len(files), shape)
    return Pixels(np.stack([each.pixels for each in read]), files, names, notes)


class _OneImage(NamedTuple):
    """An image (C, H, W), and whether it had another size."""

    pixels: NDArray[np.uint8]
    resized: bool


def _pixels(path: Path, shape: tuple[int, int, int]) -> _OneImage:
    channels, height, width = shape
    draft = (4 * width, 4 * height)
    pixels, resized = read_image(path, (width, height), draft=draft, grey=channels == 1)
    eight = np.clip(pixels, 0, 255).astype(np.uint8)
    return _OneImage(np.broadcast_to(eight, (height, width, channels)).transpose(2, 0, 1), resized)


def _resized(n_resized: int, n_images: int, shape: tuple[int, int, int]) -> tuple[str, ...]:
    if not n_resized:
        return ()
    many = "all images are" if n_resized == n_images else f"{n_resized} of {n_images} images are"
    return (f"{many} resized to {shape[1]} x {shape[2]} pixels, which the network reads",)
