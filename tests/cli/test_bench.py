import json
import shlex
from importlib import import_module

import pytest
from typer.testing import CliRunner

from coterie.bench.benchmark import command_line
from coterie.cli.app import app

SHIPPED = {
    "mog": ("dac-mog2d", "amcp-mog2d", "amcp-mog2d-wide"),
    "warped": ("amcp-warped2d",),
}
HEADER = ["method", "ARI", "seconds"]
ROWS = [["DAC [red]", "0.98 ± 0.01", "0.1, 0.2"], ["k-means", "-0.50", ""]]


class FakeReport:
    def __init__(self, name):
        self.name = name

    def to_json(self):
        return {"benchmark": self.name, "ari": 0.98}

    def tables(self):
        return [("mixtures [of] Gaussians", HEADER, ROWS)]


@pytest.fixture(params=["mog", "warped"])
def name(request):
    return request.param


@pytest.fixture
def calls(name, monkeypatch, tmp_path):
    """Stand in for the benchmark, which takes minutes, and keep what it was asked for."""
    calls = []

    def stand_in(n_sets, n_peer_sets, seed, progress, *, weights):
        calls.append((n_sets, n_peer_sets, seed, weights))
        for done in range(3):
            progress("ours", done, 2)
        return FakeReport(name)

    monkeypatch.setattr(import_module(f"coterie.bench.{name}"), f"run_{name}", stand_in)
    monkeypatch.chdir(tmp_path)
    return calls


@pytest.fixture
def run(name):
    def run(*arguments):
        return CliRunner().invoke(app, ["bench", name, *arguments])

    return run


def test_options_reach_the_benchmark(run, name, calls):
    result = run("--sets", "5", "--peer-sets", "3", "--seed", "2")
    assert result.exit_code == 0, result.output
    assert calls == [(5, 3, 2, SHIPPED[name])]


def test_without_options_the_shipped_models_are_measured(run, name, calls):
    assert run().exit_code == 0
    assert calls == [(1000, 100, 0, SHIPPED[name])]


def test_several_weights_are_measured_together(run, calls):
    run("--weights", "amcp-mog2d-wide", "--weights", "dac-mog2d")
    assert calls == [(1000, 100, 0, ("amcp-mog2d-wide", "dac-mog2d"))]


def test_the_command_of_a_report_asks_for_the_same(run, name, calls):
    command = command_line(name, 7, 2, 4, ["amcp-mog2d", "dac-mog2d"])
    program, bench, benchmark, *arguments = shlex.split(command)
    assert (program, bench, benchmark) == ("coterie", "bench", name)
    assert run(*arguments).exit_code == 0
    assert calls == [(7, 2, 4, ("amcp-mog2d", "dac-mog2d"))]


def test_unknown_weights_are_refused_before_the_work(run, calls):
    result = run("--weights", "dac-mog2d", "--weights", "nobody")
    assert result.exit_code == 2
    assert "no model 'nobody'" in result.stderr
    assert calls == []


def test_the_tables_are_shown_as_they_are(run, calls):
    lines = run().stdout.splitlines()
    assert lines[0] == "mixtures [of] Gaussians"
    cells = [line.split("  ") for line in lines]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in cells]
    for row in (HEADER, *ROWS):
        assert [cell for cell in row if cell] in cells


def test_results_are_written_where_they_belong_and_progress_is_silent(run, name, calls, tmp_path):
    result = run()
    assert json.loads((tmp_path / f"benchmarks/results/{name}.json").read_text())["ari"] == 0.98
    assert f"benchmarks/results/{name}.json" in result.stdout
    assert result.stderr == ""
    run("--out", "else/where")
    assert (tmp_path / f"else/where/{name}.json").exists()


def test_a_folder_that_cannot_be_made_is_refused_before_the_work(run, calls, tmp_path):
    (tmp_path / "file").write_text("")
    result = run("--out", "file/folder")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "file/folder" in line
    assert calls == []
