import csv

import numpy as np
import pytest
from PIL import Image

from coterie.data.tables import image_folder
from coterie.data.tables.files import opened
from coterie.data.tables.labelled import label_rows
from coterie.data.tables.survey import read_rows, read_table


@pytest.fixture
def folder(tmp_path):
    """Two dark images in one folder, a light one in another, one beside them."""
    for name, value in (("loose, last.png", 9), ("a/0.png", 3), ("a/1.png", 5), ("b/0.png", 250)):
        path = tmp_path / "images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (4, 4), value).save(path)
    return tmp_path / "images"


def test_images_are_rows_and_their_names_are_not_numbers(folder):
    with opened(folder) as source:
        table = read_table(source)
        text = read_rows(source, ("file", "folder"), table.rows)
    assert table.values.shape == (4, 256)
    # Images of one value differ by a constant: 16 times as far apart, since they have 256 pixels.
    apart = np.linalg.norm(table.values - table.values[0], axis=1)
    np.testing.assert_allclose(apart, 16 * np.array([0, 2, 247, 6]), rtol=1e-6)
    assert text["file"] == ["a/0.png", "a/1.png", "b/0.png", "loose, last.png"]
    assert text["folder"] == ["a", "a", "b", "."]
    assert [left.name for left in table.left_out] == ["file", "folder"]
    assert all(left.is_text for left in table.left_out)


@pytest.mark.parametrize("batch_rows", [3, 4096])
def test_names_and_clusters_are_written_and_no_pixels(folder, tmp_path, monkeypatch, batch_rows):
    monkeypatch.setattr(image_folder, "BATCH_ROWS", batch_rows)
    target = tmp_path / "labels.csv"
    with opened(folder) as source:
        table = read_table(source)
        label_rows(source, table.encoding, lambda rows, values: (rows % 2, rows / 4), 2, target)
    rows = list(csv.reader(target.read_text().splitlines()))
    assert rows == [
        ["file", "cluster", "confidence"],
        ["a/0.png", "0", "0.000000"],
        ["a/1.png", "1", "0.250000"],
        ["b/0.png", "0", "0.500000"],
        ["loose, last.png", "1", "0.750000"],
    ]
