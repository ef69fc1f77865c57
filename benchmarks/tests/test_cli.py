"""The command line, run for real on a few small sets."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from bench import families
from bench.cli import app
from coterie.systems.registry import build
from coterie.weights.format import make_card, save_system

BENCHMARKS = Path(__file__).parent.parent


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def written(folder, name):
    return json.loads((folder / f"{name}.json").read_text())


def asks_for(command, *arguments):
    """Whether a printed command is the one that was typed."""
    return shlex.split(command) == ["python", "benchmarks", *map(str, arguments)]


@pytest.mark.parametrize(
    ("name", "weights"), [("mog", ["dac-mog2d", "amcp-mog2d"]), ("warped", ["amcp-warped2d"])]
)
def test_mixtures_are_measured_shown_and_written(name, weights, tmp_path):
    asked = [name, *("--sets", 1, "--peer-sets", 0, "--seed", 3)]
    asked += [word for each in weights for word in ("--weights", each)]
    result = run(*asked, "--out", tmp_path / "new")
    assert (result.exit_code, result.stderr) == (0, "")
    data = written(tmp_path / "new", name)
    assert asks_for(data["command"], *asked)
    methods = data["settings"][0]["ours"]["methods"]
    assert {each["name"].split(",")[0] for each in methods} == {*weights}
    assert "our systems on 1 sets" in result.stdout
    assert str(tmp_path / "new" / f"{name}.json") in result.stdout


def test_each_setting_may_have_its_own_number_of_sets(tmp_path):
    asked = ["mog", "--sets", 2, "--sets", 1, "--peer-sets", 0, "--seed", 3]
    asked += ["--weights", "amcp-mog2d"]
    result = run(*asked, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    data = written(tmp_path, "mog")
    assert asks_for(data["command"], *asked)
    assert [setting["ours"]["n_sets"] for setting in data["settings"]] == [2, 1]


def test_a_system_that_answers_at_once_is_measured(tmp_path):
    network = build("act_st", {"width": 8, "heads": 2, "slots": 2})
    path = tmp_path / "direct.safetensors"
    save_system(path, network, make_card(network))
    options = ("--sets", 1, "--peer-sets", 0, "--weights", path)
    result = run("mog", *options, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    for setting in written(tmp_path, "mog")["settings"]:
        consolidated, network_alone = setting["ours"]["methods"]
        assert network_alone["name"].endswith("as the network says")
        assert "network_ll_minus_oracle" in network_alone["metrics"]
        assert "network_ll_minus_oracle" not in consolidated["metrics"]


def test_public_sets_are_measured_and_the_peers_kept(tmp_path, blobs):
    labels = {"small__y": blobs.labels + 1, "many__y": np.arange(31) + 1}
    points = {"small__X": blobs.points.astype(np.float32), "many__X": np.zeros((31, 2), np.float32)}
    np.savez(tmp_path / "clustering_suite.npz", **points, **labels)
    options = [*("--weights", "amcp-mog2d", "--k-limit", 3, "--threads", 1)]
    result = run("tables", "--data", tmp_path, *options, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    first = written(tmp_path, "tables")
    assert asks_for(first["command"], "tables", *options)
    assert [each["name"] for each in first["sets"]] == ["small"]  # at most thirty clusters
    assert run("tables", "--data", tmp_path, *options, "--out", tmp_path).exit_code == 0
    again = {each["name"]: each["sets"] for each in written(tmp_path, "tables")["methods"]}
    kept = {each["name"]: each["sets"] for each in first["methods"] if not each["ours"]}
    assert kept.items() <= again.items()  # their seconds, too


def test_calibration_is_measured_on_every_family(tmp_path):
    options = [*("--sets", 1, "--seed", 2, "--weights", "amcp-universal-small")]
    result = run("calibration", *options, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    data = written(tmp_path, "calibration")
    assert asks_for(data["command"], "calibration", *options)
    assert "ECE" in result.stdout


def test_a_study_is_trained_and_measured(tmp_path):
    folder = tmp_path / "studies/study-amcp-r8"
    options = ("--steps", 2, "--validate-every", 0, "--device", "cpu", "--out", folder)
    result = run("train", "study-amcp-r8", *options)
    assert result.exit_code == 0, result.output
    assert str(folder / "weights.safetensors") in result.stdout
    assert json.loads((folder / "log.jsonl").read_text().splitlines()[-1])["step"] == 2
    refused = run("train", "study-amcp-r8", *options)
    assert (refused.exit_code, "weights.safetensors exists" in refused.stderr) == (2, True)
    measured = ("studies", "--runs", tmp_path / "studies", "--sets", 1, "--seed", 0)
    assert run(*measured, "--out", tmp_path).exit_code == 0
    data = written(tmp_path, "studies")
    assert asks_for(data["command"], *measured)
    assert set(data["recipes"]) == {"study-amcp-r8"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mog", "--weights", "nobody"], "no model 'nobody'"),
        (["mog", "--sets", "0"], "--sets"),
        (["mog", "--sets", "1", "--sets", "2", "--sets", "3"], "once for each of the 2 settings"),
        (["mog", "--out", "{file}/folder"], "folder"),
        (["speed", "--batched", "nobody"], "no model 'nobody'"),
        (["speed", "--device", "abacus"], "abacus"),
        (["tables", "--data", "nowhere"], "no file nowhere"),
        (["families", "--resume", "--fresh"], "choose"),
        (["families", "--k-limit", "1"], "--k-limit"),
        (["studies", "--runs", "nowhere"], "no weights of any study in nowhere"),
        (["train", "gpt"], "unknown study 'gpt'"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(arguments, words, tmp_path):
    (tmp_path / "file").write_text("")
    out = [] if "--out" in arguments or arguments[0] == "train" else ["--out", tmp_path]
    result = run(*(each.format(file=tmp_path / "file") for each in arguments), *out)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert words in line


def test_an_interrupted_run_says_what_is_kept(monkeypatch, tmp_path):
    def stopped(plan, ledger, **settings):
        ledger.write_text("a run\n")
        raise KeyboardInterrupt

    monkeypatch.setattr(families, "run_families", stopped)
    result = run("families", "--out", tmp_path)
    kept = tmp_path / "families.jsonl"
    assert (result.exit_code, result.stdout) == (130, "")
    assert f"{kept} has what was measured, continue with --resume" in result.stderr
    assert kept.read_text() == "a run\n"


def test_the_folder_is_a_command():
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS), "mog", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Usage: python benchmarks mog" in done.stdout
    assert "Example: python benchmarks mog" in done.stdout
