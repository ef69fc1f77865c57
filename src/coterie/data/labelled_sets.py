"""Labelled sets in a folder: tables with a column of labels, images sorted into folders.

A set of images is a folder with a subfolder of images for each cluster. The folder of sets may
contain several of these, or be one itself.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.data.images import image_files, is_image, rows_of_images
from coterie.data.tables.columns import Choice
from coterie.data.tables.files import opened
from coterie.data.tables.gaps import filled_notes
from coterie.data.tables.survey import read_rows, read_table
from coterie.data.tables.table import Table

SUFFIXES = (".csv", ".tsv", ".parquet", ".arrow", ".feather")
MAX_ROWS = 10_000  # longer tables are sampled: training sets have fewer rows


class LabelledTable(NamedTuple):
    """A table (n, d) and the cluster of each row (n,), 0..k-1; remark: notes on its changes."""

    name: str
    points: NDArray[np.float32]
    labels: NDArray[np.intp]
    remark: str = ""


def read_tables(folder: Path, label: str) -> list[LabelledTable]:
    """All labelled sets of a folder, tables and then images, by name."""
    if not folder.is_dir():
        raise ValueError(f"no folder {folder}")
    inside = sorted(folder.iterdir())
    files = [path for path in inside if path.suffix.lower() in SUFFIXES and path.is_file()]
    of_images = [path for path in inside if _cluster_folders(path)]
    if _cluster_folders(folder):  # deeper folders belong to these clusters
        if files:
            raise ValueError(
                f"{folder} contains both tables and images (in {_cluster_folders(folder)[0].name});"
                " put them in separate folders"
            )
        of_images = [folder]
    if not files and not of_images:
        raise ValueError(
            f"{folder} contains no tables ({', '.join(SUFFIXES)}) and no folders of images, one per"
            " cluster"
        )
    return [_read(path, label) for path in files] + [_read_images(path) for path in of_images]


def digest_of(tables: Sequence[LabelledTable]) -> str:
    """A short hash of these tables."""
    digest = hashlib.sha256()
    for table in tables:
        digest.update(table.name.encode())
        digest.update(table.points.tobytes())
        digest.update(table.labels.tobytes())
    return digest.hexdigest()[:16]


def _read(path: Path, label: str) -> LabelledTable:
    with opened(path) as source:
        table = read_table(source, Choice(truth=(label,)), max_rows=MAX_ROWS)
        cells = np.array(read_rows(source, (label,), table.rows)[label])
    if not np.char.str_len(cells).all():
        missing = int(np.argmin(np.char.str_len(cells)))
        raise ValueError(f"{path}: no label in row {table.rows[missing] + 1}")
    labels = np.unique(cells, return_inverse=True)[1]
    values = table.values.astype(np.float32)
    return LabelledTable(path.name, values, labels, _remark(table, label))


def _remark(table: Table, label: str) -> str:
    left = [f"{name!r} ({reason})" for name, reason in table.left_out if name != label]
    left_out = [f"columns dropped: {', '.join(left)}"] if left else []
    return "; ".join([*left_out, *filled_notes(table)])


def _read_images(folder: Path) -> LabelledTable:
    found = [image_files(cluster) for cluster in _cluster_folders(folder)]
    files = [path for cluster in found for path in cluster]
    labels = np.repeat(np.arange(len(found)), [len(cluster) for cluster in found])
    if len(files) > MAX_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(files), MAX_ROWS, replace=False))
        files, labels = [files[row] for row in rows], labels[rows]
        labels = np.unique(labels, return_inverse=True)[1]
    return LabelledTable(folder.name, rows_of_images(files), labels)


def _cluster_folders(folder: Path) -> list[Path]:
    """The subfolders with images: the clusters of a set of images."""
    if not folder.is_dir():
        return []
    inside = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    return [path for path in inside if not path.name.startswith(".") and _holds_images(path)]


def _holds_images(folder: Path) -> bool:
    return any(is_image(path) for path in folder.iterdir())
