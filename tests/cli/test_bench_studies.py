import json
import sys
from types import ModuleType

import pytest
from typer.testing import CliRunner

from coterie.cli.app import app


class FakeReport:
    name = "studies"

    def to_json(self):
        return {"benchmark": "studies", "missing": ["study-amcp-ot"]}

    def tables(self):
        return [("coupling: Does [it] help?", ["recipe", "ARI"], [["base", "0.98"]])]


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Stand in for the benchmark, which takes minutes, and keep what it was asked for."""
    calls = []

    def trained_recipes(runs):
        if not runs.is_dir():
            raise ValueError(f"no weights of any study in {runs}")

    def run_studies(runs, n_sets, seed, progress):
        calls.append((str(runs), n_sets, seed))
        progress("(300, 4)", 1, n_sets)
        return FakeReport()

    module = ModuleType("coterie.bench.studies")
    module.trained_recipes, module.run_studies = trained_recipes, run_studies
    monkeypatch.setitem(sys.modules, "coterie.bench.studies", module)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/studies").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    return calls


def run(*arguments):
    return CliRunner().invoke(app, ["bench", "studies", *arguments])


def test_options_reach_the_benchmark(calls):
    assert run().exit_code == 0
    result = run("--runs", "elsewhere", "--sets", "5", "--seed", "2")
    assert result.exit_code == 0, result.output
    assert calls == [("runs/studies", 200, 0), ("elsewhere", 5, 2)]


def test_tables_are_shown_and_results_written(calls, tmp_path):
    result = run("--out", "else/where")
    assert result.stdout.startswith("coupling: Does [it] help?")
    assert "else/where/studies.json" in result.stdout
    written = json.loads((tmp_path / "else/where/studies.json").read_text())
    assert written["missing"] == ["study-amcp-ot"]
    assert result.stderr == ""


def test_a_folder_without_weights_is_refused_before_the_work(calls):
    result = run("--runs", "nowhere")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "no weights of any study in nowhere" in line
    assert calls == []
