import numpy as np
import pytest

from coterie.data.tables import arrays
from coterie.data.tables.arrays import ArchiveFile, ArrayFile
from coterie.data.tables.table import SourceError

POINTS = np.arange(10.0).reshape(5, 2)
LABELS, CONFIDENCE = np.array([0, 1, 0, 1, 2]), np.array([1.0, 0.5, 0.75, 1.0, 0.25])


@pytest.fixture
def save(tmp_path):
    def save(*arrays, **named):
        path = tmp_path / ("table.npz" if named else "table.npy")
        np.savez(path, **named) if named else np.save(path, *arrays)
        return path

    return save


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(arrays, "BATCH_ROWS", 2)


def copy(source, target):
    with source.writer(target) as writer:
        start = 0
        for batch in source.batches():
            rows = slice(start, start + len(batch.frame))
            writer.write(batch, LABELS[rows], CONFIDENCE[rows])
            start = rows.stop


def test_an_array_is_read_in_batches(save):
    source = ArrayFile(save(POINTS), "it")
    assert source.columns == ("x1", "x2")
    batches = list(source.batches())
    assert [batch.share for batch in batches] == [0.4, 0.8, 1.0]
    np.testing.assert_array_equal(np.concatenate([b.frame.to_numpy() for b in batches]), POINTS)


@pytest.mark.parametrize("array", [POINTS, POINTS[:, 0], POINTS.astype(np.int32)])
def test_an_array_is_written_with_two_columns_more(save, tmp_path, array):
    copy(ArrayFile(save(array), "it"), tmp_path / "out.npy")
    expected = np.column_stack([array, LABELS, CONFIDENCE])
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)


def test_named_fields_are_columns_and_stay_fields(save, tmp_path):
    table = np.array([(1.5, b"a"), (2.5, b"b"), (0, b"c"), (1, b"d"), (2, b"e")], "f8,S1")
    source = ArrayFile(save(table), "it")
    assert source.columns == ("f0", "f1")
    copy(source, tmp_path / "out.npy")
    written = np.load(tmp_path / "out.npy")
    assert written.dtype.names == ("f0", "f1", "cluster", "confidence")
    np.testing.assert_array_equal(written[["f0", "f1"]].tolist(), table.tolist())
    np.testing.assert_array_equal(written["cluster"], LABELS)


def test_an_archive_is_written_with_two_arrays_more(save, tmp_path):
    source = ArchiveFile(save(X=POINTS, y=LABELS, meta=np.array(3)), "it")
    copy(source, tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as written:
        assert set(written) == {"X", "y", "meta", "cluster", "confidence"}
        np.testing.assert_array_equal(written["X"], POINTS)
        np.testing.assert_array_equal(written["cluster"], LABELS)
        np.testing.assert_array_equal(written["confidence"], CONFIDENCE)


def test_single_arrays_of_an_archive_are_columns_set_aside(save):
    source = ArchiveFile(save(X=POINTS, y=LABELS, other=np.arange(3)), "it")
    assert source.columns == ("x1", "x2", "y")
    assert [left.name for left in source.aside] == ["y"]
    assert [y for batch in source.batches() for y in batch.frame["y"]] == LABELS.tolist()


def test_the_table_of_an_archive_is_the_only_one_the_usual_one_or_the_one_named(save):
    assert ArchiveFile(save(some=POINTS, y=LABELS), "it").columns[:2] == ("x1", "x2")
    both = save(a=POINTS[:, :1], X=POINTS)
    assert ArchiveFile(both, "it").columns == ("x1", "x2")
    assert ArchiveFile(both, "it", "a").columns == ("x1",)
    with pytest.raises(SourceError, match=r"a \(5, 2\), b \(5, 2\); choose .* --array NAME"):
        ArchiveFile(save(a=POINTS, b=POINTS), "it")
    with pytest.raises(SourceError, match="no array 'c'"):
        ArchiveFile(both, "it", "c")


def test_an_archive_with_clusters_already_is_not_overwritten(save, tmp_path):
    source = ArchiveFile(save(X=POINTS, cluster=np.zeros((2, 3))), "it", "X")
    with pytest.raises(SourceError, match="already has an array 'cluster'"):
        copy(source, tmp_path / "out.npz")


@pytest.mark.parametrize(
    ("array", "complaint"),
    [
        (np.zeros((2, 2, 2)), "a table has two dimensions"),
        (np.array([["a", "b"]]), "not numeric"),
        (np.array([[1 + 1j]]), "not numeric"),
        (np.zeros((0, 2)), "no rows"),
    ],
)
def test_what_is_no_table_is_refused(save, array, complaint):
    with pytest.raises(SourceError, match=complaint):
        ArrayFile(save(array), "it")


def test_nothing_is_ever_unpickled(tmp_path):
    np.save(tmp_path / "evil.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(SourceError, match="cannot be read as an array"):
        ArrayFile(tmp_path / "evil.npy", "it")
    np.savez(tmp_path / "evil.npz", X=np.array([{}], dtype=object))
    with pytest.raises(SourceError, match="cannot be read"):
        ArchiveFile(tmp_path / "evil.npz", "it")


def test_a_spreadsheet_is_told_from_arrays(tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "book.xlsx", "w") as file:
        file.writestr("sheet.xml", "<sheet/>")
    with pytest.raises(SourceError, match="Save it as CSV"):
        ArchiveFile(tmp_path / "book.xlsx", "it")


@pytest.mark.parametrize("end", [20, 60, 100, -8])
def test_a_damaged_file_is_refused_by_name(save, end):
    for path, kind in ((save(POINTS), ArrayFile), (save(X=POINTS), ArchiveFile)):
        path.write_bytes(path.read_bytes()[:end].replace(b"(5", b"(("))
        with pytest.raises(SourceError, match="it cannot be read"):
            kind(path, "it")
