import numpy as np
import pytest
from PIL import Image

from coterie.data import labelled_sets
from coterie.data.images import read_images
from coterie.data.labelled_sets import digest_of, read_tables
from coterie.data.tables.table import SourceError


def draw(folder, number, size=6):
    """So many images in a folder."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(number)
    for each in range(number):
        pixels = random.integers(0, 256, (size, size), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{each}.png")


def test_a_folder_of_sorted_images_is_one_set(tmp_path):
    draw(tmp_path / "cats", 3)
    draw(tmp_path / "dogs", 2)
    (tmp_path / "empty").mkdir()
    (found,) = read_tables(tmp_path, "label")
    assert found.name == tmp_path.name
    assert found.labels.tolist() == [0, 0, 0, 1, 1]
    np.testing.assert_array_equal(found.points, read_images(tmp_path).values)


def test_a_folder_may_hold_several_sets_of_images_and_tables(tmp_path):
    draw(tmp_path / "b" / "left", 2)
    draw(tmp_path / "b" / "right", 3)
    draw(tmp_path / "c" / "only", 4)
    (tmp_path / "a.csv").write_text("x,label\n1,u\n2,v\n3,v\n")
    sets = read_tables(tmp_path, "label")
    assert [each.name for each in sets] == ["a.csv", "b", "c"]
    assert [each.labels.tolist() for each in sets] == [[0, 1, 1], [0, 0, 1, 1, 1], [0] * 4]
    assert [each.points.shape[1] for each in sets] == [1, 256, 256]


def test_pictures_beside_tables_are_no_set(tmp_path):
    (tmp_path / "a.csv").write_text("x,label\n1,u\n2,v\n")
    draw(tmp_path / "plots", 2)
    with pytest.raises(ValueError, match="contains both tables and images \\(in plots"):
        read_tables(tmp_path, "label")


def test_hidden_folders_are_no_clusters(tmp_path):
    draw(tmp_path / "cats", 2)
    draw(tmp_path / ".thumbnails", 3)
    draw(tmp_path / "cats" / ".cache", 1)
    (found,) = read_tables(tmp_path, "label")
    assert found.labels.tolist() == [0, 0]


def test_images_below_a_cluster_s_folder_belong_to_it(tmp_path):
    draw(tmp_path / "cats", 2)
    draw(tmp_path / "cats" / "more", 1)
    draw(tmp_path / "dogs", 1)
    (found,) = read_tables(tmp_path, "label")
    assert found.labels.tolist() == [0, 0, 0, 1]


def test_of_very_many_images_a_sample_is_read(tmp_path, monkeypatch):
    draw(tmp_path / "cats", 30)
    draw(tmp_path / "dogs", 20)
    monkeypatch.setattr(labelled_sets, "MAX_ROWS", 10)
    (found,), (again,) = read_tables(tmp_path, ""), read_tables(tmp_path, "")
    assert found.points.shape == (10, 256)
    assert set(found.labels) == {0, 1}
    np.testing.assert_array_equal(found.points, again.points)


def test_another_image_is_another_digest(tmp_path):
    draw(tmp_path / "cats", 2)
    before = digest_of(read_tables(tmp_path, ""))
    assert digest_of(read_tables(tmp_path, "")) == before
    draw(tmp_path / "dogs", 1)
    assert digest_of(read_tables(tmp_path, "")) != before


def test_images_that_nobody_has_sorted_are_refused(tmp_path):
    draw(tmp_path / "pictures", 3)
    with pytest.raises(ValueError, match=r"no tables .* and no folders of images, one per"):
        read_tables(tmp_path / "pictures", "label")


def test_a_bad_image_is_told_by_name(tmp_path):
    draw(tmp_path / "cats", 2)
    (tmp_path / "cats" / "1.png").write_bytes(b"nothing")
    with pytest.raises(SourceError, match=r"1\.png cannot be read as an image"):
        read_tables(tmp_path, "label")
