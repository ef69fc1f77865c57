"""Sets drawn from a folder of labelled tables: a prior that is somebody's own data.

A training set is some of the clusters of one table and some of their rows, in the frame in which
`scaling="robust"` puts the tables of later users. Tables may differ in their columns.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.data.episodes import drop_clusters
from coterie.data.tables.columns import Choice
from coterie.data.tables.files import opened
from coterie.data.tables.survey import read_rows, read_table
from coterie.functional.canonical import onto_principal_axes, standardise

SUFFIXES = (".csv", ".tsv", ".parquet", ".arrow", ".feather")
MAX_ROWS = 10_000  # of a longer table a sample: a training set has fewer
MAX_COLUMNS = 64
SMALLEST_SHARE = 0.3  # of n_max, as in the priors of the papers


class LabelledTable(NamedTuple):
    """A table (n, d) and the cluster of each row (n,), 0..k-1."""

    name: str
    points: NDArray[np.float32]
    labels: NDArray[np.intp]


@dataclass(frozen=True)
class LabelledFolder:
    """Sets of up to n_max points and k_max clusters from the tables of a folder.

    label: the column with the truth; columns: the width of the sets, zero where a table has fewer;
    fewer_clusters: how many of the sets have lost some clusters of their table; digest: of what
    the folder held, so that a run is not resumed on other data.
    """

    folder: str
    label: str
    columns: int
    k_max: int
    n_max: int
    digest: str
    fewer_clusters: float = 0.5

    def sample(self, n_sets: int, generator: Generator) -> SetBatch:
        """A batch of labelled sets, on the generator's device."""
        device = generator.device
        points, labels = _pool(self.folder, self.label, self.columns, self.digest, device)
        table = torch.randint(len(points), (n_sets,), generator=generator, device=device)
        whole = SetBatch(points[table], labels[table] >= 0, labels[table])
        some = drop_clusters(whole, self.k_max, self.fewer_clusters, generator)
        rows, mask = choose_rows(some.mask, self.n_max, generator)
        drawn = whole.points.gather(1, rows[..., None].expand(-1, -1, self.columns))
        drawn = onto_principal_axes(standardise(drawn, mask), mask)
        drawn = torch.where(mask[..., None], drawn, 0.0)
        return SetBatch(drawn, mask, torch.where(mask, labels[table].gather(1, rows), -1))


def read_folder(
    folder: Path | str, label: str = "label", *, n_max: int = 1000, columns: int | None = None
) -> LabelledFolder:
    """The prior of a folder; columns: the width that a network has already."""
    tables = read_tables(Path(folder), label)
    widest = max(table.points.shape[1] for table in tables)
    if widest > (columns or MAX_COLUMNS):
        raise ValueError(f"{folder}: {widest} columns; at most {columns or MAX_COLUMNS} are read")
    return LabelledFolder(
        folder=str(folder),
        label=label,
        columns=columns or widest + widest % 2,  # principal axes are found in pairs of columns
        k_max=max(int(table.labels.max()) + 1 for table in tables),
        n_max=min(n_max, max(len(table.labels) for table in tables)),
        digest=_digest(tables),
    )


def read_tables(folder: Path, label: str) -> list[LabelledTable]:
    """All labelled tables of a folder, by name."""
    if not folder.is_dir():
        raise ValueError(f"no folder {folder}")
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
    if not files:
        raise ValueError(f"{folder} holds no tables ({', '.join(SUFFIXES)})")
    return [_read(path, label) for path in files]


def choose_rows(mask: Tensor, n_max: int, generator: Generator) -> tuple[Tensor, Tensor]:
    """Some valid rows of each set, in random order: mask (B, M) -> index and mask (B, n_max)."""
    keys = torch.rand(mask.shape, generator=generator, device=mask.device)
    rows = torch.where(mask, keys, 2.0).argsort(1)[:, :n_max]
    share = torch.rand(len(mask), 1, generator=generator, device=mask.device)
    wanted = n_max * (SMALLEST_SHARE + (1 - SMALLEST_SHARE) * share)
    number = torch.minimum(wanted.ceil(), mask.sum(1, keepdim=True))
    return rows, torch.arange(rows.shape[1], device=mask.device) < number


def _read(path: Path, label: str) -> LabelledTable:
    with opened(path) as source:
        table = read_table(source, Choice(truth=(label,)), max_rows=MAX_ROWS)
        cells = np.array(read_rows(source, (label,), table.rows)[label])
    if not np.char.str_len(cells).all():
        missing = int(np.argmin(np.char.str_len(cells)))
        raise ValueError(f"{path}: no label in row {table.rows[missing] + 1}")
    labels = np.unique(cells, return_inverse=True)[1]
    return LabelledTable(path.name, table.values.astype(np.float32), labels)


def _digest(tables: list[LabelledTable]) -> str:
    digest = hashlib.sha256()
    for table in tables:
        digest.update(table.name.encode())
        digest.update(table.points.tobytes())
        digest.update(table.labels.tobytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=4)
def _pool(
    folder: str, label: str, columns: int, digest: str, device: torch.device
) -> tuple[Tensor, Tensor]:
    """All tables in one tensor (F, M, D), their labels (F, M) with -1 for padding."""
    tables = read_tables(Path(folder), label)
    if _digest(tables) != digest:
        raise ValueError(f"{folder} holds other tables than when it was first read")
    longest = max(len(table.labels) for table in tables)
    points = torch.zeros(len(tables), longest, columns)
    labels = torch.full((len(tables), longest), -1)
    for number, table in enumerate(tables):
        n_rows, width = table.points.shape
        points[number, :n_rows, :width] = torch.from_numpy(table.points)
        labels[number, :n_rows] = torch.from_numpy(table.labels)
    return points.to(device), labels.to(device)
