"""A folder of images as a table: one row per image, columns of mixed pixels."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from coterie.data.images import column_names, read_images, written_name
from coterie.data.tables.formulas import without_formulas
from coterie.data.tables.numerals import POINT
from coterie.data.tables.table import ADDED, TEXT, Batch, LeftOut, Writer, polars

FILE, FOLDER = "file", "folder"
BATCH_ROWS = 4096


class ImageFolder:
    """The images of a folder and its subfolders, which have to fit into memory as small squares.

    The column `file` names an image, `folder` its folder: for sorted images this is the true
    cluster. The output is a CSV file of names and clusters only.
    """

    text_is_data = False
    is_array = True
    suffixes: tuple[str, ...] = (".csv",)
    aside: tuple[LeftOut, ...] = (
        LeftOut(FILE, f"{TEXT}, names the images"),
        LeftOut(FOLDER, f"{TEXT}, folder of the images"),
    )

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._path = path
        self._images = read_images(path)
        self._mixtures = column_names(self._images.values.shape[1])
        self.columns: tuple[str, ...] = (FILE, FOLDER, *self._mixtures)

    @property
    def files(self) -> list[Path]:
        """The images, in the order of the rows."""
        return [self._path / name for name in self._images.names.tolist()]

    def batches(self) -> Iterator[Batch]:
        """The images in batches."""
        values, names = self._images
        for start in range(0, len(names), BATCH_ROWS):
            rows = slice(start, start + BATCH_ROWS)
            files = [written_name(name) for name in names[rows].tolist()]
            folders = [Path(file).parent.as_posix() for file in files]
            text = polars().DataFrame({FILE: files, FOLDER: folders})
            mixtures = polars().DataFrame(values[rows], schema=list(self._mixtures))
            share = min(1.0, rows.stop / len(names))
            yield Batch(text.hstack(mixtures), text[FILE], share)

    @contextmanager
    def writer(self, target: Path) -> Iterator[Writer]:
        with target.open("w", encoding="utf-8", newline="") as file:
            file.write(f"{FILE},{','.join(ADDED)}\n")
            yield _NameWriter(file)


class _NameWriter:
    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(
        self, batch: Batch, labels: NDArray[np.intp], confidence: NDArray[np.float64]
    ) -> None:
        columns = dict(zip((FILE, *ADDED), (batch.native, labels, confidence), strict=True))
        frame = without_formulas(polars().DataFrame(columns), POINT)
        self._file.write(frame.write_csv(float_precision=6, include_header=False))
