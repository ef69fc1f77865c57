"""Small copies of images, as addresses that hold their data."""

import base64
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coterie.data.images import in_colours, pillow

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
    small.thumbnail((SIDE, SIDE))
    memory = io.BytesIO()
    small.save(memory, kind, quality=QUALITY, optimize=True)
    data = base64.b64encode(memory.getvalue()).decode("ascii")
    return f"data:image/{kind.lower()};base64,{data}"
