import os
from pathlib import Path

import numpy as np
import pytest

from bench.suite import FILE, numbered, read_suite


@pytest.fixture
def file(tmp_path):
    points = np.arange(12, dtype=np.float32).reshape(6, 2)
    sets = {
        "wut_b__X": points,
        "wut_b__y": np.array([1, 2, 0, 2, 3, 0], np.int16),
        "uci_a__X": points[:2],
        "uci_a__y": np.array([2, 1], np.int16),
        "sipu_s1__X": points[:2],
        "sipu_s1__y": np.array([1, 1], np.int16),
    }
    np.savez(tmp_path / FILE, **sets)
    return tmp_path / FILE


def test_sets_come_by_name_with_noise_below_zero(file):
    sets = read_suite(file)
    assert [each.name for each in sets] == ["sipu_s1", "uci_a", "wut_b"]
    assert sets[2].labels.tolist() == [0, 1, -1, 1, 2, -1]
    assert [each.n_clusters for each in sets] == [1, 2, 3]
    np.testing.assert_array_equal(sets[1].points, [[0, 1], [2, 3]])


def test_kinds_follow_the_batteries(file):
    assert [each.kind for each in read_suite(file)] == ["mixtures", "tables", "2-D shapes"]


def test_sets_of_many_clusters_may_be_left_out(file):
    assert [each.name for each in read_suite(file, k_max=2)] == ["sipu_s1", "uci_a"]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=f"no file .*{FILE}"):
        read_suite(tmp_path / FILE)


def test_a_file_without_sets_is_named(tmp_path):
    np.savez(tmp_path / FILE, other=np.zeros(3))
    with pytest.raises(ValueError, match=f"{FILE} contains no sets"):
        read_suite(tmp_path / FILE)


def test_clusters_are_numbered_without_holes():
    labels = np.array([5, -1, 2, 5, 9])
    assert numbered(labels, clustered=labels >= 0).tolist() == [1, -1, 0, 1, 2]


@pytest.mark.data
def test_the_real_suite():
    folder = os.environ.get("COTERIE_DATA")
    if folder is None:
        pytest.skip("COTERIE_DATA does not name a folder with the real data sets")
    sets = read_suite(Path(folder) / FILE)
    assert len(sets) == 49
    assert len(read_suite(Path(folder) / FILE, k_max=30)) == 44
    assert {each.kind for each in sets} == {"2-D shapes", "mixtures", "tables"}
    (noisy,) = (each for each in sets if each.name == "graves_zigzag_noisy")
    assert (noisy.labels < 0).sum() == 38
    for each in sets:
        assert np.isfinite(each.points).all()
        assert set(range(each.n_clusters)) == set(each.labels.tolist()) - {-1}
