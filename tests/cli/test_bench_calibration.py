import json

import pytest
from typer.testing import CliRunner

from coterie.bench import calibration
from coterie.cli.app import app


class FakeReport:
    name = "calibration"

    def to_json(self):
        return {"benchmark": self.name}

    def tables(self):
        return [("mine", ["family", "ECE"], [["blobs", "0.05"]])]


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Stand in for the benchmark, and keep what it was asked for."""
    calls = []

    def stand_in(weights, n_sets, seed, progress):
        calls.append((weights, n_sets, seed))
        progress("mine", 1, 1)
        return FakeReport()

    monkeypatch.setattr(calibration, "run_calibration", stand_in)
    monkeypatch.chdir(tmp_path)
    return calls


def run(*arguments):
    return CliRunner().invoke(app, ["bench", "calibration", *arguments])


def test_the_universal_model_is_measured_where_nobody_says_otherwise(calls, tmp_path):
    result = run()
    assert result.exit_code == 0, result.output
    assert calls == [(("amcp-universal",), 40, 0)]
    written = (tmp_path / "benchmarks/results/calibration.json").read_text()
    assert json.loads(written) == {"benchmark": "calibration"}
    assert "0.05" in result.stdout


def test_options_reach_the_benchmark(calls):
    run("--sets", "3", "--seed", "2", "--weights", "amcp-mog2d", "--weights", "dac-mog2d")
    assert calls == [(("amcp-mog2d", "dac-mog2d"), 3, 2)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--weights", "nobody"], "no model 'nobody'"), (["--sets", "0"], "--sets")],
)
def test_what_cannot_be_measured_is_refused_in_one_line(calls, arguments, words):
    result = run(*arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert words in line
    assert calls == []
