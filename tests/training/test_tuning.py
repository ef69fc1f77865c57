import json
import re
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from coterie.cli.app import app
from coterie.systems.registry import build
from coterie.training import tuning
from coterie.training.presets import preset
from coterie.training.tuning import search, suggested

optuna = pytest.importorskip("optuna")
SMALL = replace(preset("amcp-small"), training=replace(preset("amcp-small").training, steps=4))


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    """Networks of up to 200 neurons: the paper's go up to 1,000."""
    monkeypatch.setattr(tuning, "NEURONS", (100, 200, 100))


def test_the_space_is_the_papers():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0))
    for _ in range(20):
        trial = study.ask()
        recipe = suggested(SMALL, trial)
        build("amcp", recipe.settings)
    spaces = trial.distributions
    assert (spaces["encoder_blocks"].low, spaces["encoder_blocks"].high) == (0, 3)
    assert (spaces["learning_rate"].low, spaces["learning_rate"].high) == (1e-8, 1.0)
    assert (spaces["weight_decay"].low, spaces["weight_decay"].high) == (1e-12, 1.0)
    assert spaces["learning_rate"].log
    assert (spaces["overlap_weight"].low, spaces["overlap_weight"].high) == (1.0, 10.0)
    assert (spaces["cluster_scale"].low, spaces["cluster_scale"].high) == (0.01, 0.5)


def test_a_search_goes_on_where_it_stopped(tmp_path):
    said = []
    first = search(SMALL, tmp_path, n_trials=2, n_sets=2, accelerator="cpu", say=said.append)
    assert first.n_trials == 2
    assert set(first.settings) >= {"learning_rate", "width", "encoder_blocks"}
    assert not (tmp_path / "trial0").exists()
    again = search(SMALL, tmp_path, n_trials=2, n_sets=2, accelerator="cpu", say=said.append)
    assert again == first  # there is nothing left to do
    more = search(SMALL, tmp_path, n_trials=3, n_sets=2, accelerator="cpu", say=said.append)
    assert more.n_trials == 3
    assert more.score >= first.score
    scores = [json.loads((tmp_path / f"trial{n}.jsonl").read_text())["ari"] for n in range(3)]
    assert more.score == pytest.approx(max(scores))


def test_a_training_that_diverges_is_a_bad_trial(tmp_path, untrained):
    assert search(SMALL, tmp_path, n_trials=1, accelerator="cpu").score == tuning.DIVERGED


@pytest.fixture
def untrained(monkeypatch):
    """Trials that end before they begin, in no time."""

    def explode(*arguments, **options):
        raise FloatingPointError("network.weight is not finite after 3 steps")

    monkeypatch.setattr("coterie.training.trainer.train", explode)


@pytest.mark.parametrize("name", ["what?", "50%41", "a{b}", "#1"])
def test_a_folder_may_have_any_name(tmp_path, untrained, name):
    assert search(SMALL, tmp_path / name, n_trials=1, accelerator="cpu").n_trials == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name / "trials.db").exists()


def test_trials_of_another_recipe_do_not_count(tmp_path, untrained):
    search(SMALL, tmp_path, n_trials=1, accelerator="cpu")
    longer = replace(SMALL, training=replace(SMALL.training, steps=5))
    with pytest.raises(ValueError, match="has trials of another 'amcp-small'"):
        search(longer, tmp_path, n_trials=1, accelerator="cpu")


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\x00" + bytes(200)])
def test_a_damaged_file_of_trials_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "trials.db").write_bytes(content)
    result = run("tune", "amcp-small", "--trials", 1, "--out", tmp_path, "--device", "cpu")
    assert result.exit_code == 2
    assert re.fullmatch(r"coterie: \S+trials.db cannot be used: [^\n]+\n", result.stderr)


def test_other_systems_are_refused(tmp_path):
    with pytest.raises(ValueError, match="'dac-mog2d' is of 'dac'; the search is for AMCP"):
        search(preset("dac-mog2d"), tmp_path, n_trials=1)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="coterie")


def test_the_command_prints_the_best_trial(tmp_path):
    options = ["--trials", 1, "--steps", 3, "--out", tmp_path, "--device", "cpu"]
    result = run("tune", "amcp-small", *options, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["n_trials"] == 1
    again = run("tune", "amcp-small", *options)
    assert "best of 1 trials: ARI" in again.stdout
    assert "learning_rate = " in again.stdout


def test_without_optuna_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    result = run("tune", "amcp-small", "--trials", 1, "--out", tmp_path)
    assert result.exit_code == 2
    assert result.stderr.strip() == "coterie: this needs optuna: pip install 'coterie[tune]'"
