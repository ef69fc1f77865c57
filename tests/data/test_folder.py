import numpy as np
import polars as pl
import pytest
import torch

from coterie.data.folder import LabelledFolder, choose_rows, read_folder, read_tables
from coterie.data.tables.table import SourceError
from coterie.encoders.tabular import fit_columns


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def write(path, points, labels, label="label", **more):
    columns = {f"c{j}": column for j, column in enumerate(np.transpose(points))}
    pl.DataFrame({**columns, label: labels, **more}).write_csv(path)


@pytest.fixture
def folder(tmp_path):
    """Two tables: three columns with 4 clusters of ten rows, two columns with 2 of thirty."""
    random = np.random.default_rng(0)
    for name, columns, k, size in (("a.csv", 3, 4, 10), ("b.csv", 2, 2, 30)):
        labels = np.repeat(np.arange(k), size)
        points = 100 * labels[:, None] + random.normal(size=(k * size, columns))
        write(tmp_path / name, points, [f"kind {y}" for y in labels])
    (tmp_path / "notes.txt").write_text("not a table")
    return tmp_path


def test_the_folder_says_how_large_its_sets_are(folder):
    prior = read_folder(folder)
    assert (prior.columns, prior.k_max, prior.n_max) == (4, 4, 60)
    assert read_folder(folder, n_max=25).n_max == 25


def test_labels_of_any_kind_become_numbers(folder):
    first, second = read_tables(folder, "label")
    assert first.labels.tolist() == np.repeat(np.arange(4), 10).tolist()
    assert first.points.shape == (40, 3)
    assert np.bincount(second.labels).tolist() == [30, 30]


def test_sets_hold_rows_of_one_table_with_their_labels(folder):
    # Clusters lie 100 apart and are 1 wide: in any frame, rows of one label are close together.
    batch = read_folder(folder).sample(32, generator())
    assert batch.points.shape == (32, 60, 4)
    assert not batch.points[~batch.mask].any()
    assert (batch.labels[~batch.mask] == -1).all()
    for points, mask, labels in zip(batch.points, batch.mask, batch.labels, strict=True):
        present = labels[mask].unique()
        if len(present) < 2:
            continue
        within = max(points[labels == y, 0].std(correction=0) for y in present)
        middles = torch.stack([points[labels == y, 0].mean() for y in present]).sort().values
        assert middles.diff().min() > 10 * within


def test_some_sets_have_lost_clusters_and_all_have_their_size(folder):
    batch = read_folder(folder).sample(200, generator())
    numbers = {
        len(labels[mask].unique()) for labels, mask in zip(batch.labels, batch.mask, strict=True)
    }
    assert numbers == {1, 2, 3, 4}
    assert batch.mask.sum(1).max() <= 60
    assert batch.mask.sum(1).min() >= 10  # the smallest cluster as a whole
    assert batch.mask.sum(1).unique().numel() > 10


def test_a_set_stands_in_the_frame_that_later_users_get(tmp_path):
    random = np.random.default_rng(1)
    points = random.normal(size=(50, 2)) * [3, 400] + [7, -90]
    write(tmp_path / "a.csv", points, np.zeros(50, int))
    batch = LabelledFolder(**{**vars(read_folder(tmp_path)), "n_max": 500}).sample(1, generator())
    in_use = fit_columns(points, 2, "robust")(points)
    drawn = batch.points[0, batch.mask[0]].numpy()
    assert len(drawn) == 50  # n_max is beyond the table, so that every row is drawn
    by_first = [each[np.argsort(each[:, 0])] for each in (drawn, in_use)]
    np.testing.assert_allclose(*by_first, atol=1e-4)


def test_the_same_generator_draws_the_same_sets(folder):
    prior = read_folder(folder)
    one, other, third = (prior.sample(4, generator(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.points, other.points)
    assert not torch.equal(one.points, third.points)


def test_rows_are_chosen_once_and_only_valid_ones():
    mask = torch.arange(30) < torch.tensor([[30], [4], [1]])
    rows, chosen = choose_rows(mask, 10, generator())
    assert rows.shape == chosen.shape == (3, 10)
    assert chosen.sum(1)[1:].tolist() == [4, 1]
    for kept, valid, given in zip(rows, chosen, mask, strict=True):
        assert len(kept[valid].unique()) == valid.sum()
        assert given[kept[valid]].all()


def test_a_folder_that_changed_is_not_mistaken_for_the_old_one(folder):
    before = read_folder(folder)
    write(folder / "c.csv", np.zeros((5, 2)), list("abcde"))
    assert read_folder(folder).digest != before.digest
    with pytest.raises(ValueError, match="holds other tables"):
        before.sample(1, generator())


def test_a_network_of_a_width_gets_sets_of_that_width(folder):
    assert read_folder(folder, columns=8).sample(2, generator()).points.shape[-1] == 8
    with pytest.raises(ValueError, match="3 columns; at most 2 are read"):
        read_folder(folder, columns=2)


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()])
def test_a_folder_without_tables_is_refused(tmp_path, make):
    make(tmp_path / "empty")
    with pytest.raises(ValueError, match=r"no folder|holds no tables"):
        read_folder(tmp_path / "empty")


def test_a_table_without_the_label_is_refused_by_name(folder):
    with pytest.raises(SourceError, match=r"a\.csv has no column 'truth'"):
        read_folder(folder, "truth")


def test_a_row_without_a_label_is_refused_with_its_place(tmp_path):
    (tmp_path / "a.csv").write_text("x,label\n1,a\n2,\n3,b\n")
    with pytest.raises(ValueError, match=r"a\.csv: no label in row 2"):
        read_folder(tmp_path)
