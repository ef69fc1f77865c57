import os
from pathlib import Path

import numpy as np
import pytest

from coterie.data.tables import delimited
from coterie.data.tables.labelled import (
    Sizes,
    label_rows,
    refuse_labelled,
    refuse_other_format,
    replacing,
)
from coterie.data.tables.survey import read_table
from coterie.data.tables.table import SourceError


def by_sign(rows, values):
    return (values[:, 0] > 0).astype(int), np.full(len(rows), 0.75)


def test_rows_are_labelled_batch_by_batch(csv, tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 30)
    numbers = np.random.default_rng(0).normal(size=200)
    source = csv("who,x\n" + "".join(f"p{i},{x}\n" for i, x in enumerate(numbers)))
    table = read_table(source, max_rows=5)
    seen, shares = [], []

    def assign(rows, values):
        seen.append(rows)
        np.testing.assert_array_equal(values[:, 0], numbers[rows])
        return by_sign(rows, values)

    sizes = label_rows(source, table.encoding, assign, 2, tmp_path / "out.csv", shares.append)
    assert len(seen) > 5
    np.testing.assert_array_equal(np.concatenate(seen), np.arange(200))
    assert sizes.counts.tolist() == [(numbers <= 0).sum(), (numbers > 0).sum()]
    np.testing.assert_allclose(sizes.confidence, 0.75 * sizes.counts)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "who,x,cluster,confidence"
    assert [line.split(",")[2] for line in lines[1:]] == [str(int(x > 0)) for x in numbers]
    assert shares[-1] == 1


def test_rows_may_be_labelled_by_their_numbers_alone(csv, tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 30)
    source = csv("who,x\n" + "".join(f"p{row},{row % 7 - 3}\n" for row in range(200)))
    encoding = read_table(source).encoding
    sizes = label_rows(source, encoding, by_sign, 2, tmp_path / "values.csv")

    def assign(rows, values):
        assert values.shape == (len(rows), 0)
        return by_sign(rows, (rows % 7 - 3)[:, None])

    same = label_rows(source, encoding, assign, 2, tmp_path / "rows.csv", by_values=False)
    assert same.counts.tolist() == sizes.counts.tolist()
    assert (tmp_path / "rows.csv").read_bytes() == (tmp_path / "values.csv").read_bytes()


def test_gaps_are_filled_for_the_rule_and_stay_in_the_file(csv, tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 30)
    cells = [["-3", "", "5", "NA"][row % 4] for row in range(200)]
    source = csv("x,y\n" + "".join(f"{cell},1\n" for cell in cells))
    table = read_table(source, max_rows=40)
    (filled,) = table.filled
    seen = []

    def assign(rows, values):
        seen.append(values[:, 0])
        return by_sign(rows, values)

    label_rows(source, table.encoding, assign, 2, tmp_path / "out.csv")
    expected = [{"-3": -3.0, "5": 5.0}.get(cell, filled.median) for cell in cells]
    assert np.concatenate(seen).tolist() == expected
    lines = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert [line.split(",")[0] for line in lines] == cells


def test_without_a_target_rows_are_only_counted(csv, tmp_path):
    source = csv("x\n-1\n2\n3\n")
    before = set(tmp_path.iterdir())
    sizes = label_rows(source, read_table(source).encoding, by_sign, 2)
    assert sizes.counts.tolist() == [1, 2]
    assert set(tmp_path.iterdir()) == before


def test_a_failure_half_way_leaves_what_was_there(csv, tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 30)
    source = csv("x\n" + "1\n" * 100)
    target = tmp_path / "out.csv"
    target.write_text("precious")

    def failing(rows, values):
        if rows[0] > 10:
            raise RuntimeError
        return by_sign(rows, values)

    before = set(tmp_path.iterdir())
    with pytest.raises(RuntimeError):
        label_rows(source, read_table(source).encoding, failing, 2, target)
    assert target.read_text() == "precious"
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["cluster", "confidence"])
def test_columns_of_the_input_are_not_overwritten(csv, name):
    with pytest.raises(SourceError, match=f"already has a column '{name}'"):
        refuse_labelled(csv(f"x,{name}\n1,2\n"))
    refuse_labelled(csv("x\n1\n"))


def test_a_target_of_another_format_is_refused(csv):
    source = csv("x\n1\n")
    with pytest.raises(SourceError, match=r"cannot write out\.npy; a table must end in \.csv, "):
        refuse_other_format(source, Path("out.npy"))
    with pytest.raises(SourceError, match=r"cannot write out\.bmp\.gz"):
        refuse_other_format(source, Path("out.bmp.gz"))
    for name in ("out.csv", "out.TSV", "out", "out.parquet", "out.json.gz", "out.gz", "o.xlsx.ZST"):
        refuse_other_format(source, Path(name))


def test_a_file_is_replaced_with_ordinary_rights_and_new_folders(tmp_path):
    target = tmp_path / "new" / "folder" / "out.txt"
    with replacing(target) as part:
        part.write_text("done")
        assert not target.exists()
        assert part.suffix == ".txt"
    assert target.read_text() == "done"
    umask = os.umask(0)
    os.umask(umask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with replacing(tmp_path / "link.txt") as part:
        part.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_device_is_written_and_not_replaced():
    with replacing(Path("/dev/null")) as part:
        assert part == Path("/dev/null")


def test_noise_is_counted_apart():
    sizes = Sizes(3)
    sizes.add(np.array([2, -1, 0, 2]), np.array([0.5, 0.0, 1.0, 0.75]))
    sizes.add(np.array([-1, -1]), np.zeros(2))
    assert sizes.counts.tolist() == [1, 0, 2]
    assert sizes.confidence.tolist() == [1.0, 0.0, 1.25]
    assert sizes.noise == 3
