import json
from dataclasses import replace
from datetime import datetime

import pytest
import torch

from bench import growth
from bench.growth import KINDS
from bench.mog import mog_setting
from bench.speed import SIZES, Sizes, refuse_unfit, run_speed
from coterie.systems.registry import build
from coterie.weights.format import make_card, save_system

SMALL = Sizes(
    alone=mog_setting(60, 3, k_limit=3),
    batched=mog_setting(80, 3, k_limit=3),
    rounds=2,
    matrix=16,
    copied_bytes=2**10,
)
PARTS = {"alone", "batched", "ceilings", "work", "growth"}


@pytest.fixture(scope="module")
def report(small_amcp):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "measure_apart", growth.measure)  # a process takes seconds to start
        return run_speed("cpu", ["dac-mog2d"], small_amcp, 1000, 2, 0, sizes=SMALL)


def test_sets_are_those_of_the_mog_benchmark():
    for sizes in SIZES.values():
        assert (sizes.alone.title, sizes.batched.title) == ("(1000, 4)", "(3000, 12)")
        assert sizes.alone.k_limit == 8


def test_json_survives_a_round_trip(report):
    data = report.to_json()
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_json_says_what_was_run(report, small_amcp):
    data = report.to_json()
    assert data["benchmark"] == "speed-cpu"
    assert data["command"] == (
        f"python benchmarks speed --device cpu --weights dac-mog2d --batched {small_amcp}"
        " --max-points 1000 --sets 2 --seed 0"
    )
    assert datetime.fromisoformat(data["date"]).tzinfo is not None
    assert {"cpu", "torch_threads", "others_cpu_share"} <= set(data["machine"])
    assert set(data) >= PARTS
    assert data["alone"]["entries"][0]["seconds"]["repeats"] == 2
    assert [lap["name"] for lap in data["batched"]["laps"]] == [small_amcp, "DAC"]
    assert [work["flops"] > 0 for work in data["work"]] == [True, True]
    assert [curve["what"] for curve in data["growth"]["curves"]] == list(KINDS)


def test_ratios_are_computed_in_the_same_run(report):
    data = report.to_json()
    ours, dac = data["batched"]["laps"]
    medians = [lap["seconds_per_set"]["median"] for lap in (ours, dac)]
    assert ours["times_dac"] == medians[0] / medians[1]
    fit, mixture = data["alone"]["entries"][0], data["alone"]["entries"][4]
    assert mixture["name"] == "GaussianMixture + BIC"
    assert fit["times_mixture"] == fit["seconds"]["median"] / mixture["seconds"]["median"]


def test_every_row_is_as_long_as_its_header(report):
    tables = report.tables()
    assert len(tables) == 6
    for _, header, rows in tables:
        assert rows
        assert {len(row) for row in rows} == {len(header)}


def test_tables_show_what_was_measured(report):
    entry = report.alone.entries[0]
    assert report.tables()[0].rows[0][:3] == [
        "dac-mog2d",
        "fit",
        f"{1e3 * entry.seconds.median:.2f}",
    ]


def test_a_curve_that_was_cut_short_says_so(report):
    first, *others = report.growth.curves
    cut = first._replace(stopped="10,000 points: too little memory")
    shown = replace(report, growth=report.growth._replace(curves=(cut, *others))).tables()[-1]
    assert [row[1] for row in shown.rows] == [cut.stopped, "all sizes", "all sizes"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"device": "abacus"}, "device must be one of cpu, cuda"),
        ({"weights": []}, "give weights"),
        ({"weights": ["dac-mog2d", "nobody"]}, "no model 'nobody'"),
        ({"batched": "nobody"}, "no model 'nobody'"),
        ({"max_points": 999}, "1000 or more"),
    ],
)
def test_what_cannot_be_measured_is_refused(wrong, message):
    right = {"device": "cpu", "weights": ["dac-mog2d"], "batched": "dac-mog2d", "max_points": 1000}
    refuse_unfit(**right)
    with pytest.raises(ValueError, match=message):
        refuse_unfit(**{**right, **wrong})


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no CUDA device"):
        refuse_unfit("cuda", ["dac-mog2d"], "dac-mog2d", 1000)


def test_networks_of_other_columns_are_refused(tmp_path):
    settings = {"columns": 3, "width": 8, "heads": 2, "slots": 2}
    path = tmp_path / "wide.safetensors"
    network = build("dac", settings)
    save_system(path, network, make_card(network))
    with pytest.raises(ValueError, match="reads 3 columns"):
        refuse_unfit("cpu", ["dac-mog2d"], str(path), 1000)


def test_a_system_without_a_loop_is_refused(tmp_path):
    network = build("act_st", {"width": 8, "heads": 2, "slots": 2})
    path = tmp_path / "direct.safetensors"
    save_system(path, network, make_card(network))
    with pytest.raises(ValueError, match="system 'act_st', which has no loop to time"):
        refuse_unfit("cpu", [str(path)], "dac-mog2d", 1000)
