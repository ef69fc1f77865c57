import json
import shutil
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
import torch

from bench import studies
from bench.models import CALLED
from bench.mog import mog_setting
from bench.recipes.amcp import RECIPES, STUDIES
from bench.sets import draw_sets
from bench.studies import (
    SETTINGS,
    method_name,
    read_training,
    run_studies,
    study_method,
    trained_recipes,
)
from coterie.estimators.registry import clusterer
from coterie.systems.registry import build
from coterie.training.trainer import WEIGHTS
from coterie.weights.format import WeightsError, make_card, save_system

SMALL = (mog_setting(60, 2, k_limit=3), mog_setting(80, 3, k_limit=4))
BY_NAME = {recipe.name: recipe for recipe in RECIPES}
BASE, UNCOUPLED, DAC = "study-amcp-base", "study-amcp-uncoupled", "study-amcp-dac"
SETTINGS_OF_ESTIMATORS = {
    "network": {"ending": "network"},
    "star": {"ending": "em"},
    "consolidated": {},
}


def write_lines(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def save(folder, recipe):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        system = build(recipe.system, recipe.settings)
    folder.mkdir(parents=True, exist_ok=True)
    save_system(folder / WEIGHTS, system, make_card(system, recipe=recipe.describe()))
    return system


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two recipes with weights, one of them with its log, and one that was stopped before."""
    runs = tmp_path_factory.mktemp("runs")
    for name in (BASE, DAC):
        save(runs / name, BY_NAME[name])
    write_lines(runs / BASE / "log.jsonl", [{"step": 50, "seconds": 2.0}])
    scores = [{"step": step, "ari": step / 100, "k_mae": 1.0} for step in range(10, 80, 10)]
    write_lines(runs / BASE / "validation.jsonl", scores)
    (runs / UNCOUPLED).mkdir()
    write_lines(runs / UNCOUPLED / "log.jsonl", [{"step": 50, "seconds": 2.0}])
    return runs


@pytest.fixture(scope="module")
def report(runs):
    return run_studies(runs, 3, settings=SMALL)


def table_of(report, name):
    (found,) = [table for table in report.tables() if table.title.startswith(f"{name}: ")]
    return found


def test_settings_are_of_the_training_size_and_three_times_that():
    assert [setting.title for setting in SETTINGS] == ["(300, 4)", "(900, 12)"]


def test_weights_are_looked_for_where_the_trainer_leaves_them():
    assert studies.WEIGHTS == WEIGHTS


@pytest.mark.parametrize("ending", CALLED)
def test_an_answer_is_that_of_the_estimator(runs, ending):
    points = draw_sets(SMALL[0], 1, seed=0)[0].points
    answer = study_method(trained_recipes(runs)[BASE], ending).cluster(points)
    model = clusterer(runs / BASE / WEIGHTS, **SETTINGS_OF_ESTIMATORS[ending]).fit(points)
    np.testing.assert_array_equal(answer.labels, model.labels_)
    expected = model.clustering_.log_likelihood if ending == "network" else None
    assert answer.network_log_likelihood == expected


def test_every_recipe_is_raced_once_or_named_as_missing(report):
    data = report.to_json()
    assert set(data["recipes"]) == {BASE, DAC}
    assert set(data["missing"]) == set(BY_NAME) - {BASE, DAC}
    for setting in data["settings"]:
        assert setting["everybody"] is None
        assert {method["name"] for method in setting["ours"]["methods"]} == {
            method_name(BASE, "network"),
            method_name(BASE, "consolidated"),
            method_name(BASE, "star"),
            method_name(DAC, "network"),
            method_name(DAC, "consolidated"),
        }


def test_json_says_what_was_run_and_survives_a_round_trip(report, runs):
    data = report.to_json()
    assert json.loads(json.dumps(data, allow_nan=False)) == json.loads(json.dumps(data))
    assert data["benchmark"] == "studies"
    assert data["command"] == f"python benchmarks studies --runs {runs} --sets 3 --seed 0"
    assert datetime.fromisoformat(data["date"]).tzinfo is not None
    assert {"cpu", "cores", "others_cpu_share"} <= set(data["machine"])
    assert [study["name"] for study in data["studies"]] == [study.name for study in STUDIES]
    base = data["recipes"][BASE]
    assert base["settings"] == BY_NAME[BASE].settings
    assert (base["training"]["steps"], base["training"]["seconds"]) == (50, 2.0)
    assert base["training"]["curve"][-1] == {"step": 70, "ari": 0.7, "k_mae": 1.0}


def test_parameters_are_those_of_the_network(report):
    expected = sum(
        weight.numel() for weight in build("dac", BY_NAME[DAC].settings).state_dict().values()
    )
    assert report.to_json()["recipes"][DAC]["n_parameters"] == expected


def test_there_is_a_table_for_each_study(report):
    titles = [table.title for table in report.tables()]
    assert titles[: len(STUDIES)] == [f"{study.name}: {study.question}" for study in STUDIES]
    for _, header, rows in report.tables():
        assert {len(row) for row in rows} == {len(header)}


def test_tables_agree_with_the_json(report):
    table = table_of(report, "AMCP*")
    assert [row[1] for row in table.rows] == [CALLED[end] for end in ("network", "star")]
    for row, ending in zip(table.rows, ("network", "star"), strict=True):
        cells = dict(zip(table.header, row, strict=True))
        assert cells["recipe"] == BASE
        assert cells["training, s"] == "2"
        for setting in report.to_json()["settings"]:
            (method,) = (
                method
                for method in setting["ours"]["methods"]
                if method["name"] == method_name(BASE, ending)
            )
            for column, metric in (
                ("ARI", "ari"),
                ("k-MAE", "k_mae"),
                ("LL - oracle", "ll_minus_oracle"),
            ):
                estimate = method["metrics"][metric]
                shown = f"{estimate['mean']:.3f} ± {estimate['standard_error']:.3f}"
                assert cells[f"{column} {setting['title']}"] == shown
            shown = f"{1000 * method['seconds_median']:.1f}"
            assert cells[f"ms {setting['title']}"] == shown


def test_a_missing_recipe_has_a_row_that_says_so(report):
    rows = table_of(report, "coupling").rows
    assert [row[:2] for row in rows] == [
        [BASE, "as the network says"],
        [BASE, "consolidated"],
        [UNCOUPLED, "no weights"],
    ]
    assert not any(rows[-1][2:])


def test_curves_are_shown_at_a_few_steps_and_always_at_the_last(report):
    table = table_of(report, "training curves")
    assert table.header == ["recipe", "10", "30", "50", "70"]
    assert table.rows == [[BASE, "0.100", "0.300", "0.500", "0.700"], [DAC, *[""] * 4]]


def test_a_resumed_run_counts_all_its_time_and_its_later_scores(tmp_path):
    seconds = [1.0, 2.0, 5.0, 0.5, 4.0, 3.0]
    log = [{"step": step, "seconds": each} for step, each in enumerate(seconds)]
    write_lines(tmp_path / "log.jsonl", log)
    scores = [(10, 0.1), (20, 0.2), (20, 0.3), (30, 0.4)]
    lines = [{"step": step, "ari": ari, "k_mae": 0.0} for step, ari in scores]
    write_lines(tmp_path / "validation.jsonl", lines)
    training = read_training(tmp_path)
    assert (training.steps, training.seconds) == (5, 5.0 + 4.0 + 3.0)
    assert [point["ari"] for point in training.curve] == [0.1, 0.3, 0.4]


def test_a_run_without_a_log_says_nothing_of_its_time(tmp_path):
    assert read_training(tmp_path) == (None, None, ())


def test_a_folder_without_any_weights_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match=r"no weights of any study in .*python benchmarks train study-amcp-"
    ):
        run_studies(tmp_path, 1)


def test_weights_of_another_recipe_are_refused(runs, tmp_path):
    shutil.copytree(runs / BASE, tmp_path / "study-amcp-t2")
    with pytest.raises(WeightsError, match="does not follow study-amcp-t2: its name"):
        trained_recipes(tmp_path)


def test_weights_of_a_recipe_that_has_changed_are_refused(tmp_path):
    recipe = BY_NAME[BASE]
    save(tmp_path / BASE, replace(recipe, settings={**recipe.settings, "references": 4}))
    with pytest.raises(WeightsError, match="its settings"):
        trained_recipes(tmp_path)
