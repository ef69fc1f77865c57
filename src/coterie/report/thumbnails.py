"""Small copies of images, as addresses that hold their data."""

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.data.images import in_colours, pillow

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE = 64  # pixels; the page shows them at this size
QUALITY = 80


def thumbnails(
    files: Sequence[Path | str],
    rows: NDArray[np.intp],
    numbers: NDArray[np.intp] | None = None,
) -> dict[int, str]:
    """The images of some rows (m,); numbers: the place of each row's file, if not its own.

    An image that has gone since it was read is left out.
    """
    found = {}
    for row in rows.tolist():
        try:
            found[row] = thumbnail(Path(files[row if numbers is None else int(numbers[row])]))
        except OSError:
            continue
    return found


def thumbnails_of_pixels(images: Any, rows: NDArray[np.intp]) -> dict[int, str]:
    """Some rows (m,) of images (n, H, W), (n, H, W, C) or (n, C, H, W), as 8 bits or in [0, 1]."""
    return {row: _encoded(_from_pixels(np.asarray(images[row])), "PNG") for row in rows.tolist()}


def _from_pixels(pixels: NDArray[Any]) -> "Image":
    if pixels.ndim == 3 and pixels.shape[2] not in (1, 3):
        pixels = pixels.transpose(1, 2, 0)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[..., 0]
    if pixels.dtype.kind in "fb":
        pixels = pixels * 255.0
    image: Image = pillow().Image.fromarray(pixels.astype(np.uint8))
    return image


def thumbnail(path: Path) -> str:
    """A file as a small image, whole and upright: PNG where it is small itself, else JPEG."""
    library = pillow()
    with library.Image.open(path) as image:
        image.draft(None, (2 * SIDE, 2 * SIDE))
        kind = "PNG" if max(image.size) <= SIDE else "JPEG"
        small = in_colours(library.ImageOps.exif_transpose(image))
    if small.mode == "F":  # one grey value of any range
        grey = np.asarray(small)
        grey = (grey - grey.min()) * (255 / max(float(np.ptp(grey)), 1e-9))
        small = library.Image.fromarray(grey.astype(np.uint8))
    return _encoded(small, kind)


def _encoded(small: "Image", kind: str) -> str:
    small.thumbnail((SIDE, SIDE))
    memory = io.BytesIO()
    small.save(memory, kind, quality=QUALITY, optimize=True)
    data = base64.b64encode(memory.getvalue()).decode("ascii")
    return f"data:image/{kind.lower()};base64,{data}"
