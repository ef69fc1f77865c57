import json
import shlex

import pytest
from typer.testing import CliRunner

from coterie.bench import families
from coterie.bench.families import Plan
from coterie.cli.app import app


class FakeReport:
    name = "families"

    def to_json(self):
        return {"benchmark": self.name}

    def tables(self):
        return [("families", ["method", "blobs"], [["mine", "0.50"]])]


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Stand in for the benchmark, and keep what it was asked for."""
    calls = []

    def stand_in(plan, ledger, *, resume, fresh, progress):
        calls.append((plan, str(ledger), resume, fresh))
        progress("sets", 1, 1)
        return FakeReport()

    monkeypatch.setattr(families, "run_families", stand_in)
    monkeypatch.chdir(tmp_path)
    return calls


def run(*arguments):
    return CliRunner().invoke(app, ["bench", "families", *arguments])


def test_without_options_forty_sets_of_each_are_asked_for(calls):
    result = run()
    assert result.exit_code == 0, result.output
    assert calls == [
        (Plan(("amcp-universal",), 40, 0, 32), "benchmarks/results/families.jsonl", False, False)
    ]
    assert calls[0][0] == Plan()


def test_the_command_of_a_plan_asks_for_the_same(calls):
    plan = Plan(("amcp-warped2d", "amcp-mog2d"), 5, 3, 7)
    program, bench, name, *arguments = shlex.split(plan.command)
    assert (program, bench, name) == ("coterie", "bench", "families")
    run(*arguments, "--resume", "--out", "else")
    assert calls == [(plan, "else/families.jsonl", True, False)]


def test_an_interrupted_run_says_that_its_runs_are_kept(monkeypatch, tmp_path):
    def stopped(plan, ledger, **settings):
        ledger.write_text("a run\n")
        raise KeyboardInterrupt

    monkeypatch.setattr(families, "run_families", stopped)
    result = run("--out", str(tmp_path))
    kept = tmp_path / "families.jsonl"
    assert (result.exit_code, result.stdout) == (130, "")
    said = f"coterie: interrupted; {kept} has what was measured, --resume goes on with it\n"
    assert result.stderr == said
    assert kept.read_text() == "a run\n"


def test_results_are_written_and_shown(calls, tmp_path):
    result = run("--fresh")
    assert calls[0][3]
    written = (tmp_path / "benchmarks/results/families.json").read_text()
    assert json.loads(written) == {"benchmark": "families"}
    assert "mine" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--weights", "nobody"], "no model 'nobody'"),
        (["--resume", "--fresh"], "choose"),
        (["--sets", "0"], "--sets"),
        (["--k-limit", "1"], "--k-limit"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(calls, arguments, words):
    result = run(*arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert words in line
    assert calls == []
