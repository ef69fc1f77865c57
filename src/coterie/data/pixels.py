"""The images of a folder as pixels of one size, for networks that read images."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.data.images import SUFFIXES, image_files, in_colours, pillow
from coterie.data.tables.table import SourceError


class Pixels(NamedTuple):
    """Images (n, C, H, W), their files, and their names relative to the folder."""

    images: NDArray[np.uint8]
    files: list[Path]
    names: list[str]


def read_pixels(folder: Path, shape: tuple[int, int, int]) -> Pixels:
    """Read all images of a folder and its subfolders, sorted by name, at a shape (C, H, W).

    An image of another size is resized to it, whatever its proportions; colours become grey where
    there is one channel.
    """
    if not folder.is_dir():
        raise SourceError(f"{folder} is no folder of images, which these weights need")
    files = image_files(folder)
    if not files:
        raise SourceError(f"{folder} is a folder without images ({', '.join(SUFFIXES)})")
    images = np.stack([_pixels(path, shape) for path in files])
    return Pixels(images, files, [path.relative_to(folder).as_posix() for path in files])


def _pixels(path: Path, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
    """One image as (C, H, W)."""
    channels, height, width = shape
    library = pillow()
    try:
        with library.Image.open(path) as image:
            image.draft(None, (4 * width, 4 * height))
            upright = in_colours(library.ImageOps.exif_transpose(image))
            if upright.size != (width, height):
                upright = upright.resize((width, height), library.Image.Resampling.BILINEAR)
            if upright.mode != "F":  # one grey value, which may be of any range
                upright = upright.convert("L" if channels == 1 else "RGB")
    except Exception as error:  # Pillow raises many kinds of errors for damaged files
        reason = str(error).replace(str(path), path.name)
        raise SourceError(f"{path} cannot be read as an image: {reason}") from error
    pixels = np.asarray(upright).reshape(height, width, -1)
    if not np.isfinite(pixels).all():
        raise SourceError(f"{path} has pixels that are not finite")
    eight = np.clip(pixels, 0, 255).astype(np.uint8)
    return np.broadcast_to(eight, (height, width, channels)).transpose(2, 0, 1)
