import json
from datetime import datetime
from functools import partial

import pytest
import torch

from bench import mog as bench
from bench.benchmark import run_benchmark
from bench.methods import ours
from bench.mog import SETTINGS, mog_setting
from bench.sets import Setting, unpad
from coterie.data.priors.warped import WarpedGaussians

SMALL = (mog_setting(100, 3, k_limit=4), mog_setting(150, 4, k_limit=5))
SHOWN_WITH_ERROR = {"ARI": "ari", "k-MAE": "k_mae", "LL - oracle": "ll_minus_oracle"}
NETWORK = "dac-mog2d, as the network says"
run_mog = partial(bench.run_mog, weights=["dac-mog2d"])
run_small = partial(run_mog, 3, 2, settings=SMALL)


@pytest.fixture(scope="module")
def report():
    return run_small()


def without_time(data):
    """The same report without what depends on the clock and the machine."""
    if isinstance(data, dict):
        timed = ("seconds_mean", "seconds_median", "date", "machine")
        return {key: without_time(value) for key, value in data.items() if key not in timed}
    return [without_time(item) for item in data] if isinstance(data, list) else data


def test_settings_are_those_of_the_paper():
    assert [setting.title for setting in SETTINGS] == ["(1000, 4)", "(3000, 12)"]
    assert [setting.k_limit for setting in SETTINGS] == [8, 16]


def test_json_survives_a_round_trip(report):
    data = report.to_json()
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_json_says_what_was_run(report):
    data = report.to_json()
    assert data["benchmark"] == "mog"
    assert datetime.fromisoformat(data["date"]).tzinfo is not None
    assert {"cpu", "cores", "torch_threads", "others_cpu_share"} <= set(data["machine"])
    first = data["settings"][0]
    assert first["prior"]["name"] == "MixtureOfGaussians"
    assert (first["prior"]["n_max"], first["prior"]["k_max"]) == (100, 3)
    assert (first["ours"]["n_sets"], first["everybody"]["n_sets"]) == (3, 2)
    assert [method["name"] for method in first["ours"]["methods"]] == ["dac-mog2d", NETWORK]
    assert len(first["everybody"]["methods"]) == 6
    for method in first["everybody"]["methods"]:
        assert method["seconds_median"] > 0
        assert ("network_ll_minus_oracle" in method["metrics"]) == (method["name"] == NETWORK)


def test_tables_agree_with_the_json(report):
    tables = {table.title: table for table in report.tables()}
    for setting in report.to_json()["settings"]:
        for kind, title in (("ours", "our systems on"), ("everybody", "everybody on the same")):
            standing = setting[kind]
            table = tables[f"{setting['title']}: {title} {standing['n_sets']} sets"]
            summaries = [*standing["methods"], standing["oracle"]]
            assert [row[0] for row in table.rows] == [each["name"] for each in summaries]
            for row, summary in zip(table.rows, summaries, strict=True):
                cells = dict(zip(table.header, row, strict=True))
                for column, metric in SHOWN_WITH_ERROR.items():
                    estimate = summary["metrics"][metric]
                    shown = f"{estimate['mean']:.3f} ± {estimate['standard_error']:.3f}"
                    assert cells[column] == shown
                assert cells["LL"] == f"{summary['metrics']['ll']['mean']:.3f}"


def test_every_row_is_as_long_as_its_header(report):
    for _, header, rows in report.tables():
        assert {len(row) for row in rows} == {len(header)}


def test_the_papers_numbers_stay_apart(report):
    printed = [table for table in report.tables() if table.title.startswith("paper: ")]
    assert [table.title.split(" (")[0] for table in printed] == ["paper: DAC Table 1"]
    assert len(report.tables()) == 2 * len(SMALL) + len(printed)
    data = report.to_json()
    assert data["printed"][0]["rows"][3]["LL"] == "-0.692 ± 0.002"
    assert "-0.692 ± 0.002" not in json.dumps(data["settings"])


def test_a_seed_gives_the_same_figures_again(report):
    assert without_time(run_small().to_json()) == without_time(report.to_json())


def test_another_seed_gives_other_figures(report):
    other = run_mog(3, 0, 1, settings=SMALL[:1]).to_json()["settings"][0]["ours"]
    assert without_time(other) != without_time(report.to_json()["settings"][0]["ours"])


def test_without_peers_there_is_one_table_a_setting():
    report = run_mog(1, 0, settings=SMALL[:1])
    assert report.to_json()["settings"][0]["everybody"] is None
    assert len(report.tables()) == 1 + 1
    json.dumps(report.to_json(), allow_nan=False)


def test_a_prior_without_a_density_needs_only_its_setting():
    prior = WarpedGaussians(100, 3)
    setting = Setting(prior, lambda n, generator: unpad(prior.sample(n, generator)), k_limit=4)
    report = run_benchmark(
        "warped", [setting], ours(["dac-mog2d"]), command="", n_sets=2, n_peer_sets=1, seed=0
    )
    own, _ = report.tables()
    assert own.header == ["method", "ARI", "NMI", "ACC", "k-MAE", "LL", "seconds: mean, median"]
    assert [row[0] for row in own.rows] == ["dac-mog2d", NETWORK]
    json.dumps(report.to_json(), allow_nan=False)


def test_running_leaves_the_global_random_state_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    run_mog(1, 0, settings=SMALL[:1])
    assert torch.equal(before, torch.get_rng_state())
