"""Episodes of real labelled tables: random subsets of the rows, columns and classes of a table.

Only tables of the training split are read, and of these only those whose classes a method that is
given k can recover: the classes of the others are not clusters.
"""

import csv
import os
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coterie.data.priors.draws import Draws

FILE, INDEX = "real_tables.npz", "real_tables.csv"
FOLDER = "COTERIE_DATA"  # the environment variable with the folder of both
TRAIN = "train"
MOST_ROWS = 2_000  # longer tables are sampled
FEWEST_ROWS = 60
FEWEST_OF_A_CLASS = 6  # classes with fewer rows in an episode are left out


class RealTable(NamedTuple):
    """A table (n, d) with standardised columns, and the class of each row (n,), 0..k-1."""

    name: str
    points: NDArray[np.float32]
    labels: NDArray[np.int64]


class Pool(NamedTuple):
    """Tables in one tensor (F, M, W), labels (F, M) with -1 for padding, and widths (F,)."""

    points: Tensor
    labels: Tensor
    n_columns: Tensor
    n_classes: int


class Episodes(NamedTuple):
    """Subsets of rows and columns of tables: points (B, N, D), labels (B, N), -1 for padding."""

    points: Tensor
    labels: Tensor


def training_tables(folder: Path, least_agreement: float) -> list[RealTable]:
    """The training tables whose classes are recovered, given k, with an ARI above the minimum."""
    if not (folder / FILE).is_file():
        raise FileNotFoundError(
            f"no file {folder / FILE}; set {FOLDER} to the folder that contains it"
        )
    with (folder / INDEX).open(newline="") as index, np.load(folder / FILE) as file:
        return [
            _read(row["name"], file[f"{row['name']}/X"], file[f"{row['name']}/y"])
            for row in csv.DictReader(index)
            if row["split"] == TRAIN and float(row["given_k_ari"]) > least_agreement
        ]


@lru_cache(maxsize=4)
def load_pool(least_agreement: float, device: torch.device) -> Pool:
    """All training tables on a device, from the folder in COTERIE_DATA."""
    tables = training_tables(Path(os.environ.get(FOLDER, ".")), least_agreement)
    longest = max(len(table.labels) for table in tables)
    widest = max(table.points.shape[1] for table in tables)
    points = torch.zeros(len(tables), longest, widest)
    labels = torch.full((len(tables), longest), -1)
    for number, table in enumerate(tables):
        n_rows, width = table.points.shape
        points[number, :n_rows, :width] = torch.from_numpy(table.points)
        labels[number, :n_rows] = torch.from_numpy(table.labels)
    n_columns = torch.tensor([table.points.shape[1] for table in tables])
    n_classes = 1 + max(int(table.labels.max()) for table in tables)
    return Pool(points.to(device), labels.to(device), n_columns.to(device), n_classes)


def draw_episodes(pool: Pool, n_sets: int, n_max: int, columns: int, draws: Draws) -> Episodes:
    """Sets of up to n_max rows, each with some of the columns and classes of one table."""
    table = draws.choice(len(pool.points), n_sets)
    labels = _some_classes(pool.labels[table], pool.n_classes, draws)
    rows, labels = _some_rows(labels, n_max, draws)
    labels = _without_tiny_classes(labels, pool.n_classes)
    chosen, kept = _some_columns(pool.n_columns[table], pool.points.shape[2], columns, draws)
    points = pool.points[table[:, None, None], rows[..., None], chosen[:, None]]  # (B, N, D)
    return Episodes(torch.where(kept[:, None], points, 0.0), labels)


def _some_classes(labels: Tensor, n_classes: int, draws: Draws) -> Tensor:
    """Keep two or more classes, in half of the sets all: labels (B, M), -1 for the others."""
    n_sets = len(labels)
    present = torch.zeros(n_sets, n_classes + 1, device=labels.device)
    present = present.scatter(1, torch.where(labels < 0, n_classes, labels), 1.0)[:, :n_classes]
    n_present = present.sum(1, keepdim=True)
    fewer = (2 + draws.uniform(0, 1, n_sets, 1) * (n_present - 1)).floor()
    wanted = torch.where(draws.chance(0.5, n_sets, 1), n_present, fewer)
    ticket = draws.uniform(0, 1, n_sets, n_classes) + 2 * (1 - present)  # those present first
    kept = ticket.argsort(1).argsort(1) < wanted  # (B, K)
    return torch.where(kept.gather(1, labels.clamp_min(0)) & (labels >= 0), labels, -1)


def _some_rows(labels: Tensor, n_max: int, draws: Draws) -> tuple[Tensor, Tensor]:
    """Rows (B, n_max) in random order, and their labels (B, n_max), -1 for unused rows."""
    n_sets = len(labels)
    key = torch.where(labels >= 0, draws.uniform(0, 1, *labels.shape), 2.0)
    rows = key.argsort(1)[:, :n_max]
    rows = torch.nn.functional.pad(rows, (0, n_max - rows.shape[1]))
    fewest = min(FEWEST_ROWS, n_max)
    few = draws.log_uniform(fewest, n_max, n_sets, 1)
    many = draws.uniform(max(fewest, 0.5 * n_max), n_max, n_sets, 1)
    wanted = torch.where(draws.chance(0.5, n_sets, 1), few, many)
    wanted = torch.minimum(wanted.floor(), (labels >= 0).sum(1, keepdim=True))
    number = torch.arange(n_max, device=labels.device)
    return rows, torch.where(number < wanted, labels.gather(1, rows), -1)


def _without_tiny_classes(labels: Tensor, n_classes: int) -> Tensor:
    """Labels (B, N) with -1 for the rows of very small classes."""
    size = torch.zeros(len(labels), n_classes + 1, device=labels.device)
    number = torch.where(labels < 0, n_classes, labels)
    size = size.scatter_add(1, number, torch.ones_like(labels, dtype=size.dtype))
    return torch.where(size.gather(1, number) >= FEWEST_OF_A_CLASS, labels, -1)


def _some_columns(n_columns: Tensor, widest: int, most: int, draws: Draws) -> tuple[Tensor, Tensor]:
    """Columns (B, most) of tables with n_columns (B,), and which of them are used (B, most)."""
    n_sets = len(n_columns)
    there = torch.arange(widest, device=n_columns.device) < n_columns[:, None]
    key = torch.where(there, draws.uniform(0, 1, n_sets, widest), 2.0)
    order = torch.nn.functional.pad(key.argsort(1)[:, :most], (0, max(0, most - widest)))
    share = torch.where(draws.chance(0.5, n_sets), 1.0, draws.uniform(0.4, 1.0, n_sets))
    taken = (share * n_columns).ceil().clamp_min(2).minimum(n_columns)
    return order, torch.arange(most, device=order.device) < taken[:, None]


def _read(name: str, points: NDArray, labels: NDArray) -> RealTable:
    if len(points) > MOST_ROWS:
        rows = np.random.default_rng(0).choice(len(points), MOST_ROWS, replace=False)
        points, labels = points[np.sort(rows)], labels[np.sort(rows)]
    points = points.astype(np.float64)
    spread = points.std(0)
    points = (points - points.mean(0)) / np.where(spread > 0, spread, 1.0)
    return RealTable(name, points.astype(np.float32), labels.astype(np.int64))
