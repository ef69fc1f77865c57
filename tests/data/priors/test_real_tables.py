import csv
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from coterie.data.priors import real_tables
from coterie.data.priors.draws import Draws
from coterie.data.priors.real_tables import (
    FEWEST_OF_A_CLASS,
    FILE,
    INDEX,
    draw_episodes,
    load_pool,
    training_tables,
)

TABLES = {  # name: split, given_k_ari, rows, columns, classes
    "cells": ("train", 0.8, 300, 4, 3),
    "leaves": ("train", 0.5, 90, 7, 9),
    "noise": ("train", 0.1, 200, 5, 2),
    "secret": ("validation", 0.9, 400, 6, 2),
}


def seeded(seed: int = 0) -> Draws:
    return Draws(torch.Generator().manual_seed(seed))


@pytest.fixture
def folder(tmp_path) -> Path:
    """Small tables whose columns tell the number of the row, the column and the table."""
    arrays = {}
    with (tmp_path / INDEX).open("w", newline="") as file:
        index = csv.writer(file)
        index.writerow(["name", "split", "given_k_ari"])
        for number, (name, (split, seen, n, d, k)) in enumerate(TABLES.items()):
            index.writerow([name, split, seen])
            row = np.random.default_rng(number).permutation(n)[:, None] + 1.0
            arrays[f"{name}/X"] = (row ** (1 + np.arange(d) / d)).astype(np.float32)
            arrays[f"{name}/y"] = (np.arange(n) % k).astype(np.int16)
    np.savez(tmp_path / FILE, **arrays)
    return tmp_path


@pytest.fixture
def pool(folder, monkeypatch):
    monkeypatch.setenv("COTERIE_DATA", str(folder))
    load_pool.cache_clear()
    yield load_pool(0.3, torch.device("cpu"))
    load_pool.cache_clear()


def test_only_training_tables_with_visible_classes_are_read(folder):
    assert [table.name for table in training_tables(folder, 0.3)] == ["cells", "leaves"]
    assert [table.name for table in training_tables(folder, 0.0)] == ["cells", "leaves", "noise"]


def test_no_validation_table_is_even_opened(folder, monkeypatch):
    class Watched(dict):
        def __getitem__(self, key):
            assert not key.startswith("secret"), key
            return super().__getitem__(key)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    with np.load(folder / FILE) as file:
        arrays = Watched((name, file[name]) for name in file.files)
    monkeypatch.setattr(real_tables.np, "load", lambda path: arrays)
    assert training_tables(folder, -1.0)


@pytest.mark.data
def test_no_validation_table_of_the_real_file_is_loaded():
    folder = os.environ.get("COTERIE_DATA")
    if not folder or not (Path(folder) / FILE).is_file():
        pytest.skip(f"COTERIE_DATA does not name a folder with {FILE}")
    with (Path(folder) / INDEX).open(newline="") as file:
        split = {row["name"]: row["split"] for row in csv.DictReader(file)}
    for least in (-1.0, 0.3):
        read = [table.name for table in training_tables(Path(folder), least)]
        assert {split[name] for name in read} == {"train"}
    assert len(read) == 53
    load_pool.cache_clear()
    pool = load_pool(0.3, torch.device("cpu"))
    assert len(pool.points) == len(read)
    load_pool.cache_clear()


def test_a_folder_without_the_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="set COTERIE_DATA to the folder"):
        training_tables(tmp_path, 0.3)


def test_columns_are_standardised(folder):
    for table in training_tables(folder, 0.3):
        assert table.points.mean(0) == pytest.approx(0, abs=1e-5)
        assert table.points.std(0) == pytest.approx(1, abs=1e-5)


def test_the_pool_holds_every_table_and_padding(pool):
    assert pool.points.shape == (2, 300, 7)
    assert pool.n_columns.tolist() == [4, 7]
    assert pool.n_classes == 9
    assert (pool.labels >= 0).sum(1).tolist() == [300, 90]
    assert (pool.points[0, :, 4:] == 0).all()


def test_rows_of_an_episode_are_rows_of_a_table_with_their_class(pool):
    points, labels = draw_episodes(pool, 40, 120, 10, seeded())
    assert points.shape == (40, 120, 10)
    for one, label in zip(points, labels, strict=True):
        taken = (one != 0).any(0).nonzero()[:, 0]
        for row, name in zip(one[label >= 0], label[label >= 0], strict=True):
            values = row[taken][:, None, None]
            found = [
                table_label
                for table, labels_of in zip(pool.points, pool.labels, strict=True)
                for table_label in labels_of[(table == values).any(-1).all(0)].tolist()
            ]
            assert int(name) in found


def test_an_episode_has_two_classes_or_more_and_none_is_tiny(pool):
    _, labels = draw_episodes(pool, 200, 120, 10, seeded())
    numbers = []
    for label in labels:
        size = label[label >= 0].unique(return_counts=True)[1]
        assert size.min() >= FEWEST_OF_A_CLASS
        numbers.append(len(size))
    assert min(numbers) >= 2
    assert max(numbers) == 9
    assert len(set(numbers)) > 4


def test_no_row_comes_twice(pool):
    points, labels = draw_episodes(pool, 50, 120, 10, seeded())
    for one, label in zip(points, labels, strict=True):
        rows = one[label >= 0]
        assert len(rows.unique(dim=0)) == len(rows)


def test_some_episodes_have_all_columns_and_some_fewer(pool):
    points, _ = draw_episodes(pool, 300, 120, 10, seeded())
    n_columns = (points != 0).any(1).sum(1)
    assert set(n_columns.tolist()) == {2, 3, 4, 5, 6, 7}


def test_of_a_wide_table_some_columns_are_taken(pool):
    points, _ = draw_episodes(pool, 100, 120, 3, seeded())
    assert points.shape[2] == 3
    assert ((points != 0).any(1).sum(1) >= 2).all()


def test_the_generator_alone_decides(pool):
    first, again, other = (draw_episodes(pool, 5, 60, 4, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(first.points, again.points)
    assert torch.equal(first.labels, again.labels)
    assert not torch.equal(first.points, other.points)
