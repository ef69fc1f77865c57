import json

import pytest
from typer.testing import CliRunner

from coterie.bench import speed
from coterie.cli.app import app

DAC = ("--weights", "dac-mog2d", "--batched", "dac-mog2d")


class FakeReport:
    name = "speed-cpu"

    def to_json(self):
        return {"benchmark": self.name, "seconds": 0.5}

    def tables(self):
        return [("one set [a] call", ["method", "ms"], [["DAC", "0.5"]])]


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Stand in for the benchmark, which takes minutes, and keep what it was asked for."""
    calls = []

    def run_speed(*arguments):
        *asked, progress = arguments
        calls.append(tuple(asked))
        progress("fit", 1, 2)
        return FakeReport()

    monkeypatch.setattr(speed, "run_speed", run_speed)
    monkeypatch.chdir(tmp_path)
    return calls


def run(*arguments):
    return CliRunner().invoke(app, ["bench", "speed", *arguments])


def test_options_reach_the_benchmark(calls):
    result = run(
        *DAC, "--weights", "dac-mog2d", "--max-points", "5000", "--sets", "3", "--seed", "2"
    )
    assert result.exit_code == 0, result.output
    assert calls == [("cpu", ["dac-mog2d", "dac-mog2d"], "dac-mog2d", 5000, 3, 2)]


@pytest.mark.parametrize("option", ["--weights", "--batched"])
def test_unknown_weights_are_refused_before_the_work(calls, option):
    result = run(*DAC, option, "nobody")
    assert result.exit_code == 2
    assert "no model 'nobody'" in result.stderr
    assert calls == []


def test_an_unknown_device_is_refused_before_the_work(calls):
    result = run(*DAC, "--device", "abacus")
    assert result.exit_code == 2
    assert "abacus" in result.stderr
    assert calls == []


def test_results_are_written_and_shown(calls, tmp_path):
    result = run(*DAC)
    written = tmp_path / "benchmarks/results/speed-cpu.json"
    assert json.loads(written.read_text())["seconds"] == 0.5
    assert result.stdout.startswith("one set [a] call\n")
    assert "benchmarks/results/speed-cpu.json" in result.stdout
    assert result.stderr == ""
