import json
from functools import partial

import numpy as np
import pytest
import torch

from bench.sets import draw_sets
from bench.warped import SETTINGS, SHIPPED, run_published, run_warped, warped_setting
from coterie.data.priors.warped import WarpedGaussians
from coterie.systems.registry import build
from coterie.weights.catalogue import open_model
from coterie.weights.format import make_card, save_system

SMALL = (warped_setting(100, 3, k_limit=4), warped_setting(120, 4, k_limit=5))
run_small = partial(run_warped, 3, 2, settings=SMALL)


@pytest.fixture(scope="module")
def report():
    return run_small()


def test_settings_are_those_of_the_mixtures():
    assert [setting.title for setting in SETTINGS] == ["(1000, 4)", "(3000, 12)"]
    assert [setting.k_limit for setting in SETTINGS] == [8, 16]


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_models_were_trained_on_such_sets(name):
    _, card = open_model(name)
    assert card.provenance["recipe"]["prior"]["name"] == WarpedGaussians.__name__


def test_sets_are_those_of_the_prior_without_padding():
    setting = SMALL[0]
    batch = WarpedGaussians(100, 3).sample(4, torch.Generator().manual_seed(1))
    sets = setting.draw(4, torch.Generator().manual_seed(1))
    for each, points, labels, mask in zip(
        sets, batch.points, batch.labels, batch.mask, strict=True
    ):
        np.testing.assert_array_equal(each.points, points[mask])
        np.testing.assert_array_equal(each.labels, labels[mask])
        assert each.labels.min() >= 0


def test_the_oracle_knows_the_arcs_and_not_the_labels():
    for each in draw_sets(SMALL[0], 3, seed=0):
        assert np.isfinite(each.oracle.log_likelihood)
        assert not each.gaussian


def test_json_says_what_was_run_and_only_the_oracle_has_a_likelihood(report):
    data = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert data == report.to_json()
    assert (data["benchmark"], data["printed"]) == ("warped", [])
    assert [setting["prior"]["name"] for setting in data["settings"]] == ["WarpedGaussians"] * 2
    for setting in data["settings"]:
        assert (setting["ours"]["n_sets"], setting["everybody"]["n_sets"]) == (3, 2)
        for standing in ("ours", "everybody"):
            metrics = setting[standing]["oracle"]["metrics"]
            assert metrics["ari"]["mean"] > 0.8
            assert metrics["network_ll_minus_oracle"]["mean"] == 0
        assert [method["name"] for method in setting["ours"]["methods"]] == [*SHIPPED]
        assert len(setting["everybody"]["methods"]) == len(SHIPPED) + 5
        for method in setting["everybody"]["methods"]:
            assert set(method["metrics"]) == {"ari", "nmi", "acc", "k_found", "k_mae"}


def test_tables_end_with_the_oracle(report):
    tables = report.tables()
    assert len(tables) == 2 * len(SMALL)
    for _, header, rows in tables:
        assert header[1:6] == ["ARI", "NMI", "ACC", "k-MAE", "LL"]
        assert {len(row) for row in rows} == {len(header)}
        assert [row[0] for row in rows if row[5]] == ["oracle"] == [rows[-1][0]]


def test_spectral_clustering_is_told_the_number_of_clusters_of_each_set(report):
    for setting in report.to_json()["settings"]:
        (told,) = [m for m in setting["everybody"]["methods"] if m["name"].endswith("told k")]
        assert told["metrics"]["k_mae"]["mean"] == 0


def test_the_published_generator_has_its_own_sets_and_the_papers_table():
    settings = [warped_setting(60, 2, k_limit=3, published=True)]
    report = run_published(2, 0, settings=settings)
    data = report.to_json()
    assert data["settings"][0]["prior"]["half_axis_scale"] == 2.0
    assert data["command"].startswith("python benchmarks warped-published --sets 2")
    assert [table["source"] for table in data["printed"]] == ["paper: DAC Table 6"]


@pytest.fixture(scope="module")
def flows(tmp_path_factory):
    """A network with flows that has learnt nothing."""
    settings = {"width": 16, "heads": 2, "slots": 4, "density": "maf", "flow_width": 8}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        system = build("dac", settings)
    path = tmp_path_factory.mktemp("flows") / "flows.safetensors"
    save_system(path, system, make_card(system))
    return str(path)


def test_a_network_with_flows_states_its_own_likelihood(flows):
    report = run_warped(2, 0, weights=[flows], settings=SMALL[:1])
    (setting,) = report.to_json()["settings"]
    methods = setting["ours"]["methods"]
    assert [method["name"] for method in methods] == [flows, f"{flows}, as the network says"]
    oracle = setting["ours"]["oracle"]["metrics"]["network_ll"]["mean"]
    for method in methods:
        own, apart = (
            method["metrics"][name]["mean"] for name in ("network_ll", "network_ll_minus_oracle")
        )
        assert own - oracle == pytest.approx(apart)
    (_, header, _) = report.tables()[0]
    assert "LL" in header


def test_a_model_with_a_density_can_race_too():
    (setting,) = run_warped(1, 0, weights=["dac-mog2d"], settings=SMALL[:1]).to_json()["settings"]
    names = [method["name"] for method in setting["ours"]["methods"]]
    assert names == ["dac-mog2d", "dac-mog2d, as the network says"]


def test_a_seed_draws_its_own_sets(report):
    def figures(report):
        ours = report.to_json()["settings"][0]["ours"]["methods"]
        return [method["metrics"] for method in ours]

    assert figures(run_small()) == figures(report)
    assert figures(run_small(seed=1)) != figures(report)


def test_the_command_runs_it_again():
    report = run_warped(1, 0, 3, settings=[warped_setting(60, 2, k_limit=3)])
    expected = "python benchmarks warped --sets 1 --peer-sets 0 --seed 3 --weights amcp-warped2d"
    assert report.to_json()["command"] == expected


def test_running_leaves_the_global_random_state_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    run_warped(1, 0, settings=SMALL[:1])
    assert torch.equal(before, torch.get_rng_state())
