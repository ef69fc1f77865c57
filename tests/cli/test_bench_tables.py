import json
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie.bench import tables
from coterie.bench.tables import Plan
from coterie.cli.app import app


class FakeReport:
    name = "tables"

    def to_json(self):
        return {"benchmark": self.name}

    def tables(self):
        return [("sets", ["method", "ARI"], [["mine", "0.50"]])]


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Stand in for the benchmark, and keep what it was asked for."""
    calls = []

    def stand_in(suite, plan, ledger, *, resume, fresh, progress):
        calls.append(([each.name for each in suite], plan, str(ledger), resume, fresh))
        progress("sets", 1, 1)
        return FakeReport()

    monkeypatch.setattr(tables, "run_tables", stand_in)
    monkeypatch.setattr(tables, "SHIPPED", ("amcp-warped2d",))
    monkeypatch.chdir(tmp_path)
    labels = {"small__y": np.array([1, 2, 0]), "many__y": np.arange(31) + 1}
    points = {f"{name[:-3]}__X": np.zeros((len(y), 2), np.float32) for name, y in labels.items()}
    np.savez(tmp_path / "clustering_suite.npz", **points, **labels)
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    return calls


def run(*arguments):
    return CliRunner().invoke(app, ["bench", "tables", *arguments])


def test_sets_of_at_most_thirty_clusters_count(calls):
    result = run()
    assert result.exit_code == 0, result.output
    expected = (
        ["small"],
        Plan(("amcp-warped2d",)),
        "benchmarks/results/tables.jsonl",
        False,
        False,
    )
    assert calls == [expected]


def test_options_reach_the_benchmark(calls):
    result = run(
        *("--weights", "amcp-mog2d", "--weights", "dac-mog2d", "--k-limit", "7"),
        *("--threads", "3", "--out", "else", "--resume"),
    )
    assert result.exit_code == 0, result.output
    (_, plan, ledger, resume, fresh) = calls[0]
    assert plan == Plan(("amcp-mog2d", "dac-mog2d"), 7, (3,))
    assert (ledger, resume, fresh) == ("else/tables.jsonl", True, False)


def test_the_command_of_a_plan_asks_for_the_same(calls):
    plan = Plan(("amcp-mog2d",), 5, (1, 2))
    program, bench, name, *arguments = shlex.split(plan.command)
    assert (program, bench, name) == ("coterie", "bench", "tables")
    run(*arguments)
    assert calls[0][1] == plan


def test_results_are_written_and_shown(calls, tmp_path):
    result = run("--fresh")
    assert calls[0][4]
    assert json.loads((tmp_path / "benchmarks/results/tables.json").read_text()) == {
        "benchmark": "tables"
    }
    assert "mine" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--data", "nowhere"], "no file nowhere/clustering_suite.npz"),
        (["--weights", "nobody"], "no model 'nobody'"),
        (["--resume", "--fresh"], "choose"),
        (["--k-limit", "1"], "--k-limit"),
        (["--threads", "0"], "--threads"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(calls, arguments, words):
    result = run(*arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert words in line
    assert calls == []
