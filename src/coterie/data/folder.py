"""A prior that draws sets from a folder of labelled tables or images.

A training set is some of the clusters of one table and some of their rows, in the frame in which
the tables of later users are read ("standard"). Tables may differ in their columns.
"""

import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.data.episodes import drop_clusters
from coterie.data.labelled_sets import LabelledTable, digest_of, read_tables
from coterie.functional.canonical import onto_first_axes, standardise

MAX_COLUMNS = 16  # wider tables are projected on their principal axes, as for amcp-universal
MAX_CLUSTERS = 32  # sets of a table with more clusters get a subset
SETS_FOR_SCALE = 64
LEAST_SCALE = 1e-3
SMALLEST_SHARE = 0.3  # of n_max, as in the priors of the papers


@dataclass(frozen=True)
class LabelledFolder:
    """Sets of up to n_max points and k_max clusters from the tables of a folder.

    label: the column with the true clusters; columns: the width of the sets, padded with zeros;
    fewer_clusters: the share of sets that lack some clusters of their table; digest: of the
    folder's content, so that a run is not resumed on other data.
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
        pool = _pool(self.folder, self.label, self.columns, self.digest, device)
        table = torch.randint(len(pool.points), (n_sets,), generator=generator, device=device)
        labels = pool.labels[table]
        if pool.n_clusters > self.k_max:
            labels = choose_clusters(labels, pool.n_clusters, self.k_max, generator)
        whole = SetBatch(labels[..., None], labels >= 0, labels)  # points follow once chosen
        some = drop_clusters(whole, self.k_max, self.fewer_clusters, generator)
        rows, mask = choose_rows(some.mask, self.n_max, generator)
        drawn = standardise(pool.points[table[:, None], rows], mask)
        drawn = onto_first_axes(drawn, mask, self.columns)
        drawn = torch.where(mask[..., None], drawn, 0.0)
        return SetBatch(drawn, mask, torch.where(mask, labels.gather(1, rows), -1))

    def cluster_scale(self) -> float:
        """The typical standard deviation of a cluster: a geometric mean over clusters and axes."""
        batch = self.sample(SETS_FOR_SCALE, torch.Generator().manual_seed(0))
        assert batch.labels is not None
        logs = []
        for points, labels in zip(batch.points, batch.labels, strict=True):
            for cluster in range(self.k_max):
                members = points[labels == cluster]
                if len(members) > 1:
                    spread = members.std(0, correction=0)
                    logs.append(spread[spread > LEAST_SCALE].log())
        scales = torch.cat(logs) if logs else torch.empty(0)
        return float(scales.mean().exp()) if len(scales) else LEAST_SCALE


def read_folder(
    folder: Path | str, label: str = "label", *, n_max: int = 1000, columns: int | None = None
) -> LabelledFolder:
    """The prior of a folder; columns: the width of an existing network.

    A warning lists dropped columns and filled missing values, which are treated as at inference.
    """
    tables = read_tables(Path(folder), label)
    _warn_of(folder, [table for table in tables if table.remark])
    widest = max(table.points.shape[1] for table in tables)
    most = max(int(table.labels.max()) + 1 for table in tables)
    return LabelledFolder(
        folder=str(folder),
        label=label,
        # Principal axes are found in pairs of columns.
        columns=columns or min(widest + widest % 2, MAX_COLUMNS),
        k_max=min(most, MAX_CLUSTERS),
        n_max=min(n_max, max(len(table.labels) for table in tables)),
        digest=digest_of(tables),
    )


def choose_clusters(labels: Tensor, n_clusters: int, k_max: int, generator: Generator) -> Tensor:
    """At most k_max of the n_clusters of each set: labels (B, M) become 0..k_max-1, or else -1."""
    coins = torch.rand(len(labels), n_clusters + 1, generator=generator, device=labels.device)
    numbers = torch.where(labels < 0, n_clusters, labels)
    absent = torch.full_like(coins, 2.0).scatter(1, numbers, 0.0)
    absent[:, n_clusters] = 2.0  # padding
    renamed = (coins + absent).argsort(1).argsort(1).gather(1, numbers)  # first those present
    return torch.where((labels >= 0) & (renamed < k_max), renamed, -1)


def choose_rows(mask: Tensor, n_max: int, generator: Generator) -> tuple[Tensor, Tensor]:
    """Some valid rows of each set, in random order: mask (B, M) -> index and mask (B, n_max)."""
    keys = torch.rand(mask.shape, generator=generator, device=mask.device)
    rows = torch.where(mask, keys, 2.0).argsort(1)[:, :n_max]
    share = torch.rand(len(mask), 1, generator=generator, device=mask.device)
    wanted = n_max * (SMALLEST_SHARE + (1 - SMALLEST_SHARE) * share)
    number = torch.minimum(wanted.ceil(), mask.sum(1, keepdim=True))
    return rows, torch.arange(rows.shape[1], device=mask.device) < number


def _warn_of(folder: Path | str, tables: list[LabelledTable]) -> None:
    if not tables:
        return
    first, others = tables[0], len(tables) - 1
    more = f" (and similar changes in {others} more)" if others else ""
    warnings.warn(f"{Path(folder) / first.name}: {first.remark}{more}", UserWarning, stacklevel=3)


class _Pool(NamedTuple):
    """All tables in one tensor (F, M, D), their labels (F, M) with -1 for padding."""

    points: Tensor
    labels: Tensor
    n_clusters: int


@lru_cache(maxsize=4)
def _pool(folder: str, label: str, columns: int, digest: str, device: torch.device) -> _Pool:
    tables = read_tables(Path(folder), label)
    if digest_of(tables) != digest:
        raise ValueError(f"{folder} has changed since it was first read")
    longest = max(len(table.labels) for table in tables)
    widest = max(columns, *(table.points.shape[1] for table in tables))
    points = torch.zeros(len(tables), longest, widest + widest % 2)
    labels = torch.full((len(tables), longest), -1)
    for number, table in enumerate(tables):
        n_rows, width = table.points.shape
        points[number, :n_rows, :width] = torch.from_numpy(table.points)
        labels[number, :n_rows] = torch.from_numpy(table.labels)
    n_clusters = max(int(table.labels.max()) + 1 for table in tables)
    return _Pool(points.to(device), labels.to(device), n_clusters)
