import numpy as np
import polars as pl
import pytest
import torch
from PIL import Image

from coterie.data.folder import LabelledFolder, choose_clusters, choose_rows, read_folder
from coterie.data.labelled_sets import read_tables
from coterie.data.tables.table import SourceError
from coterie.frames.fitting import fit_frame


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
    in_use = fit_frame(points, 2, "standard")(points)
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
    with pytest.raises(ValueError, match="has changed since"):
        before.sample(1, generator())


def test_a_network_of_a_width_gets_sets_of_that_width(folder):
    assert read_folder(folder, columns=8).sample(2, generator()).points.shape[-1] == 8


def test_of_wide_tables_the_first_axes_are_drawn_that_later_users_get(tmp_path):
    random = np.random.default_rng(2)
    points = random.exponential(size=(60, 41)) @ (
        random.normal(size=(41, 41)) * 0.8 ** np.arange(41)
    )
    write(tmp_path / "a.csv", points, np.zeros(60, int))
    prior = read_folder(tmp_path)
    assert prior.columns == 16
    for columns in (2, 16):
        drawn = LabelledFolder(**{**vars(prior), "n_max": 500, "columns": columns})
        batch = drawn.sample(1, generator())
        in_use = fit_frame(points, columns, "standard")(points)
        found = batch.points[0, batch.mask[0]].numpy()
        by_first = [each[np.argsort(each[:, 0])] for each in (found, in_use)]
        np.testing.assert_allclose(*by_first, atol=2e-2)


def test_of_many_clusters_a_set_has_some(tmp_path):
    labels = np.repeat(np.arange(40), 3)
    write(tmp_path / "a.csv", 100.0 * labels[:, None] + np.eye(120, 2), labels)
    prior = read_folder(tmp_path)
    assert prior.k_max == 32
    few = LabelledFolder(**{**vars(prior), "k_max": 5}).sample(200, generator())
    numbers = [len(y[valid].unique()) for y, valid in zip(few.labels, few.mask, strict=True)]
    assert set(numbers) == {1, 2, 3, 4, 5}
    assert few.labels.max() == 4
    assert (few.mask.sum(1) <= 3 * torch.tensor(numbers)).all()


def test_clusters_are_chosen_among_those_a_set_has():
    labels = torch.tensor([[0, 0, 7, 7, 9, -1], [3, 3, 3, 3, -1, -1], [0, 1, 2, 3, 4, 5]])
    seen = set()
    for seed in range(40):
        chosen = choose_clusters(labels, 10, 2, generator(seed))
        assert (chosen[labels < 0] == -1).all()
        assert [len(row[row >= 0].unique()) for row in chosen] == [2, 1, 2]
        assert chosen.max() == 1
        for row, truth in zip(chosen, labels, strict=True):  # points stay together
            pairs = {(int(new), int(old)) for new, old in zip(row, truth, strict=True) if new >= 0}
            assert len(pairs) == len({new for new, _ in pairs})
        seen.add(tuple(labels[0][chosen[0] >= 0].tolist()))
    assert seen == {(0, 0, 7, 7), (0, 0, 9), (7, 7, 9)}


def test_sets_of_images_hold_images_with_their_kind(tmp_path):
    for kind, corner in (("dark", 0), ("light", 255), ("medium", 128)):
        (tmp_path / kind).mkdir()
        for number in range(9):
            pixels = np.full((20, 20), corner, dtype=np.uint8)
            pixels[number, number] = 90
            Image.fromarray(pixels).save(tmp_path / kind / f"{number}.png")
    prior = read_folder(tmp_path)
    assert (prior.columns, prior.k_max, prior.n_max) == (16, 3, 27)
    batch = prior.sample(16, generator())
    for points, mask, labels in zip(batch.points, batch.mask, batch.labels, strict=True):
        present = labels[mask].unique()
        middles = torch.stack([points[labels == kind, 0].mean() for kind in present]).sort().values
        within = max(points[labels == kind, 0].std(correction=0) for kind in present)
        assert len(present) == 1 or middles.diff().min() > 5 * within


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()])
def test_a_folder_without_tables_is_refused(tmp_path, make):
    make(tmp_path / "empty")
    with pytest.raises(ValueError, match=r"no folder|contains no tables"):
        read_folder(tmp_path / "empty")


def test_a_table_without_the_label_is_refused_by_name(folder):
    with pytest.raises(SourceError, match=r"a\.csv has no column 'truth'"):
        read_folder(folder, "truth")


def test_gaps_are_filled_as_in_use_and_said(tmp_path):
    (tmp_path / "a.csv").write_text("x,label\n1,a\n2,b\n3,b\n")
    (tmp_path / "b.csv").write_text("x,who,label\n1,me,a\n,you,b\n4,us,b\n9,us,a\n")
    with pytest.warns(UserWarning, match="missing values") as caught:
        before = read_folder(tmp_path)
    assert [str(each.message) for each in caught] == [
        f"{tmp_path / 'b.csv'}: columns dropped: 'who' (text, 'me' in row 1);"
        " missing values filled with the median: 'x' (1 value)"
    ]
    assert caught[0].filename == __file__
    assert read_tables(tmp_path, "label")[1].points.tolist() == [[1], [4], [4], [9]]
    (tmp_path / "c.csv").write_text("x,label\n1,a\n,b\n")
    with pytest.warns(UserWarning, match=r"and similar changes in 1 more"):
        assert read_folder(tmp_path).digest != before.digest
    assert before.folder == str(tmp_path)  # drawing reads the tables again, and says no more


def test_a_row_without_a_label_is_refused_with_its_place(tmp_path):
    (tmp_path / "a.csv").write_text("x,label\n1,a\n2,\n3,b\n")
    with pytest.raises(ValueError, match=r"a\.csv: no label in row 2"):
        read_folder(tmp_path)
