"""Labelled sets for the judge: parts of train tables, overlapping mixtures, the universal prior.

An episode is named by its source and a seed, and can be drawn again from these.
"""

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from bench.suite import read_suite
from coterie.data.priors.universal import Universal

LEAST_ROWS, MOST_ROWS = 120, int(os.environ.get("JUDGE_ROWS", "1000"))


@dataclass(frozen=True)
class Job:
    """source: "table", "mixture", "universal", "whole" (a table) or "suite"; name: of the set."""

    source: str
    name: str
    seed: int


@dataclass(frozen=True)
class Episode:
    """A labelled set: table (n, d) unscaled, truth (n,) with -1 for noise."""

    job: Job
    table: NDArray[np.float64]
    truth: NDArray[np.int16]


@cache
def listed(folder: str) -> dict[str, dict[str, str]]:
    """What `real_tables.csv` says of each table, by name."""
    with (Path(folder) / "real_tables.csv").open() as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def train_names(folder: str) -> list[str]:
    """The tables to train on."""
    return [name for name, row in listed(folder).items() if row["split"] == "train"]


def validation_names(folder: str) -> list[str]:
    """The tables to validate on."""
    return [name for name, row in listed(folder).items() if row["split"] == "validation"]


@cache
def _archive(folder: str) -> np.lib.npyio.NpzFile:
    return np.load(Path(folder) / "real_tables.npz")


@cache
def _table(folder: str, name: str) -> tuple[NDArray[np.float64], NDArray[np.int16]]:
    archive = _archive(folder)
    return archive[f"{name}/X"].astype(np.float64), archive[f"{name}/y"].astype(np.int16)


@cache
def _suite(folder: str) -> dict[str, tuple[NDArray[np.float64], NDArray[np.int16]]]:
    sets = read_suite(Path(folder) / "clustering_suite.npz")
    return {each.name: (each.points.astype(float), each.labels.astype(np.int16)) for each in sets}


def suite_names(folder: str) -> list[str]:
    """The public sets."""
    return list(_suite(folder))


def draw(job: Job, folder: str) -> Episode:
    """The set of a job."""
    # A generator of its own for every job; the name counts too.
    rng = np.random.default_rng([job.seed, *job.name.encode()])
    if job.source == "table":
        return Episode(job, *part_of_table(*_table(folder, job.name), rng))
    if job.source == "mixture":
        return Episode(job, *overlapping_mixture(rng))
    if job.source == "universal":
        return Episode(job, *universal_set(job.seed))
    if job.source in ("whole", "suite"):
        table, truth = (
            _table(folder, job.name) if job.source == "whole" else _suite(folder)[job.name]
        )
        rows = np.sort(np.random.default_rng(job.seed).permutation(len(table))[:MOST_ROWS])
        return Episode(job, table[rows], truth[rows])
    raise ValueError(f"unknown source {job.source!r}")


def part_of_table(
    table: NDArray[np.float64], truth: NDArray[np.int16], rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int16]]:
    """Rows, columns and classes of a table at random; often all classes or all columns."""
    k = int(truth.max()) + 1
    classes = np.arange(k)
    if k > 2 and rng.random() < 0.5:
        classes = rng.choice(k, rng.integers(2, k + 1), replace=False)
    if rng.random() < 0.03:
        classes = rng.choice(k, 1)
    rows = np.flatnonzero(np.isin(truth, classes))
    if rng.random() < 0.25:  # classes rarer or more frequent than they were
        weight = np.exp(rng.normal(size=k))[truth[rows]]
        keep = rng.random(len(rows)) < weight / weight.max()
        rows = rows[keep] if keep.sum() >= 40 else rows
    n_rows = int(np.exp(rng.uniform(np.log(LEAST_ROWS), np.log(1.4 * MOST_ROWS))))
    rows = np.sort(rng.permutation(rows)[: min(n_rows, MOST_ROWS)])
    d = table.shape[1]
    columns = np.arange(d)
    if d > 2 and rng.random() < 0.5:
        columns = rng.choice(d, rng.integers(max(2, d // 3), d + 1), replace=False)
    part = table[rows][:, columns]
    if rng.random() < 0.1:
        n_useless = rng.integers(1, max(2, d // 2 + 1))
        part = np.concatenate([part, rng.normal(size=(len(rows), n_useless))], 1)
    return part, np.unique(truth[rows], return_inverse=True)[1].astype(np.int16)


def overlapping_mixture(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int16]]:
    """Gaussians in 2 to 64 columns, some of them useless, correlated, skewed or rounded."""
    n_rows = int(np.exp(rng.uniform(np.log(LEAST_ROWS), np.log(MOST_ROWS))))
    k = int(rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12], p=_falling(11)))
    d = int(np.exp(rng.uniform(np.log(2), np.log(24))))
    weight = rng.dirichlet(np.full(k, rng.choice([0.8, 2.0, 10.0])))
    weight = np.maximum(weight, 8 / n_rows)
    truth = np.sort(rng.choice(k, n_rows, p=weight / weight.sum()))
    apart = np.exp(rng.uniform(np.log(2.2), np.log(8.0)))
    centres = rng.normal(size=(k, d))
    if k > 1:  # the closest two are so many deviations apart, more or less
        gaps = np.linalg.norm(centres[:, None] - centres, axis=2)[np.triu_indices(k, 1)]
        centres *= apart / np.quantile(gaps, 0.2)
    shape = rng.choice(["round", "diagonal", "full", "tied"])
    points = rng.normal(size=(n_rows, d))
    if rng.random() < 0.3:  # heavy tails
        points /= np.sqrt(rng.chisquare(rng.integers(3, 9), size=(n_rows, 1)) / 5)
    common = _turned(d, rng)
    for number in range(k):
        own = truth == number
        if shape == "diagonal":
            points[own] *= np.exp(rng.uniform(-0.7, 0.7, d))
        elif shape == "full":
            points[own] = points[own] @ _turned(d, rng)
        elif shape == "tied":
            points[own] = points[own] @ common
        points[own] *= np.exp(0.3 * rng.normal()) if shape != "tied" else 1.0
    points += centres[truth]
    if rng.random() < 0.3:  # skewed columns
        bend = rng.uniform(0.05, 0.4, d) * (rng.random(d) < 0.6)
        scaled = np.clip((points - points.mean(0)) / points.std(0), -5, 5)
        points = np.where(bend > 0, np.expm1(bend * 2 * scaled) / np.maximum(bend, 1e-9), points)
    if rng.random() < 0.4:  # useless columns, some of them correlated
        extra = rng.normal(size=(n_rows, rng.integers(1, d + 2)))
        if rng.random() < 0.5:
            extra = extra @ rng.normal(size=(extra.shape[1], extra.shape[1]))
        points = np.concatenate([points, extra], 1)
    if rng.random() < 0.3:  # columns that repeat others, with noise
        more = points @ rng.normal(size=(points.shape[1], rng.integers(1, d + 1)))
        points = np.concatenate([points, more + 0.3 * more.std(0) * rng.normal(size=more.shape)], 1)
    points = (points - points.mean(0)) / np.maximum(points.std(0), 1e-9)
    if rng.random() < 0.3:
        step = np.exp(rng.uniform(np.log(0.05), np.log(0.7), points.shape[1]))
        rounded = rng.random(points.shape[1]) < 0.6
        points = np.where(rounded, np.round(points / step) * step, points)
    return points[:, :64], np.unique(truth, return_inverse=True)[1].astype(np.int16)


def universal_set(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int16]]:
    """One set of the universal prior, as a table; noise is -1."""
    prior = Universal(n_max=MOST_ROWS)
    batch = prior.sample_tables(2, torch.Generator().manual_seed(seed))
    assert batch.labels is not None
    mask = batch.mask[0].numpy()
    points = batch.points[0].numpy()[mask].astype(np.float64)
    points = points[:, np.abs(points).sum(0) > 0]
    labels = batch.labels[0].numpy()[mask]
    truth = np.full(len(labels), -1, dtype=np.int16)
    truth[labels >= 0] = np.unique(labels[labels >= 0], return_inverse=True)[1]
    return points, truth


def jobs(folder: str, first_seed: int = 0) -> Iterator[Job]:
    """Without end: the train tables in turn, mixtures and sets of the prior between them."""
    names = train_names(folder)
    seed = first_seed
    while True:
        for name in names:
            yield Job("table", name, seed)
            yield Job("table", name, seed + 50_000)
            yield Job("mixture", "mixture", seed)
            yield Job("universal", "universal", seed)
            seed += 1


def evaluation_jobs(folder: str) -> Iterator[Job]:
    """Whole tables and public sets, cut to MOST_ROWS rows."""
    for seed in range(2):
        for name in suite_names(folder):
            if seed == 0 or len(_suite(folder)[name][1]) > MOST_ROWS:
                yield Job("suite", name, seed)
        for name, row in listed(folder).items():
            if seed == 0 or int(row["n"]) > MOST_ROWS:
                yield Job("whole", name, seed)


def _turned(d: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """A random covariance's root: axes at random, scales from one half to two."""
    axes, _ = np.linalg.qr(rng.normal(size=(d, d)))
    return np.exp(rng.uniform(-0.7, 0.7, d))[:, None] * axes


def _falling(n: int) -> NDArray[np.float64]:
    weight = 1 / (1 + np.arange(n)) ** 0.6
    weight[0] = 0.25
    return weight / weight.sum()
