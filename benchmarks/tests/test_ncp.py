import json

import numpy as np
import pytest
import torch

from bench.models import seated_labels
from bench.mog import mog_setting
from bench.ncp import REFERENCE, run_ncp
from coterie.systems.registry import build
from coterie.weights.format import make_card, save_system

SMALL = (mog_setting(60, 3, k_limit=4),)


@pytest.fixture(scope="module")
def small_ncp(tmp_path_factory):
    """A weights file of an untrained NCP."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = build("ncp", {"width": 16, "layers": 2, "point_width": 8, "cluster_width": 8})
    path = tmp_path_factory.mktemp("weights") / "ncp.safetensors"
    save_system(path, network, make_card(network))
    return str(path)


@pytest.fixture(scope="module")
def report(small_ncp):
    return run_ncp(2, 1, weights=small_ncp, samples=(1, 3), settings=SMALL)


def test_dac_and_ncp_run_on_the_same_sets(report, small_ncp):
    (setting,) = report.to_json()["settings"]
    names = [method["name"] for method in setting["ours"]["methods"]]
    drawn = [f"{small_ncp}, {each}" for each in ("S = 1", "S = 3")]
    assert names == [REFERENCE, f"{REFERENCE}, as the network says", *drawn]
    assert all(method["n_sets"] == 2 for method in setting["ours"]["methods"])


def test_variants_race_against_all_of_them_on_the_first_sets(report, small_ncp):
    (setting,) = report.to_json()["settings"]
    ours, everybody = (
        [method["name"] for method in setting[standing]["methods"]]
        for standing in ("ours", "everybody")
    )
    variants = [f"{small_ncp}, S = 10, {each}" for each in ("seated again", "U not scaled")]
    assert everybody == [*ours, *variants]
    assert all(method["n_sets"] == 1 for method in setting["everybody"]["methods"])


def test_times_are_told_beside_those_of_dac(report):
    ratios = report.times_as_long()
    assert ratios[REFERENCE] == 1
    assert all(ratio > 0 for ratio in ratios.values())
    assert json.loads(json.dumps(report.to_json()))["times_as_long_as_dac"] == ratios


def test_the_paper_s_table_is_printed_beside_ours(report):
    own, times, everybody, paper = report.tables()
    assert "our systems on 2 sets" in own.title
    assert len(times.rows) == 4
    assert "everybody on the same 1 sets" in everybody.title
    assert "DAC Table 5" in paper.title
    assert ["NCP (S = 50)", "", "0.9098", "0.6444", "6.7936"] in paper.rows
    assert report.to_json()["command"].startswith("python benchmarks ncp --sets 2 --variant-sets 1")


def test_a_resumed_benchmark_counts_the_runs_it_has(small_ncp, tmp_path):
    def resumed(n_sets):
        options = {"samples": (1,), "settings": SMALL, "ledger": tmp_path / "ncp.jsonl"}
        return run_ncp(n_sets, 1, weights=small_ncp, resume=True, **options)

    (more,), (fewer,) = resumed(2).races, resumed(1).races
    n_runs = len(more.ours.methods) + len(more.everybody.methods)
    assert len((tmp_path / "ncp.jsonl").read_text().splitlines()) == n_runs
    assert [method.n_sets for method in fewer.ours.methods] == [1] * len(more.ours.methods)


def test_labels_are_those_of_the_most_probable_draw(small_ncp, blobs):
    points = blobs.points[::10].astype(np.float32)
    labels = seated_labels(small_ncp, points, 5)
    assert labels.shape == (30,)
    assert set(labels) == set(range(labels.max() + 1))


def test_other_systems_have_no_seats(blobs):
    with pytest.raises(ValueError, match="'dac-mog2d' do not seat one point after another"):
        seated_labels("dac-mog2d", blobs.points.astype(np.float32), 1)
