"""What `generate.py` writes is what `weighed.py` reads."""

import numpy as np
import pytest

from coterie.weights.catalogue import open_model
from judge.episodes import Episode, Job, draw, overlapping_mixture, part_of_table
from judge.generate import merge, pack, weighed
from judge.weighed import load


@pytest.fixture(scope="module")
def records():
    network = open_model("amcp-universal-small")[0]
    chunk = [Job("mixture", "mixture", seed) for seed in (0, 1)]
    return [weighed(draw(job, folder=""), [network]) for job in chunk]


def test_records_are_read_as_they_were_packed(records, tmp_path):
    for number, each in enumerate(records):
        np.savez_compressed(tmp_path / f"weighed{number}.npz", **pack([each]))
    merge(tmp_path, 1)
    sets = load([str(tmp_path)])
    assert [each.meta["names"] for each in sets] == [each["meta"]["names"] for each in records]
    for one, other in zip(sets, records, strict=True):
        np.testing.assert_array_equal(one.k, other["k"])
        np.testing.assert_allclose(one.ari, other["ari"])


def test_the_network_is_the_first_candidate(records):
    assert all(each["meta"]["names"][0] == "net/all" for each in records)


def test_arms_can_be_left_out(records, tmp_path):
    np.savez_compressed(tmp_path / "weighed0.npz", **pack(records))
    names = [name for each in load([str(tmp_path)], ("kmeans",)) for name in each.meta["names"]]
    assert names
    assert not any(name.startswith("kmeans") for name in names)


def test_classes_of_parts_and_mixtures_have_no_gaps():
    rng = np.random.default_rng(0)
    table, truth = rng.normal(size=(400, 6)), rng.integers(0, 5, 400).astype(np.int16)
    for seed in range(20):
        for make in (lambda own: part_of_table(table, truth, own), overlapping_mixture):
            episode = Episode(Job("", "", seed), *make(np.random.default_rng(seed)))
            assert len(episode.table) == len(episode.truth)
            classes = np.unique(episode.truth)
            np.testing.assert_array_equal(classes, np.arange(len(classes)))
