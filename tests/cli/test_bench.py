import json
import sys
from types import ModuleType

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from coterie.cli.app import app
from coterie.cli.bench import pieces

HEADER = ["method", "ARI", "seconds"]
ROWS = [["DAC [red]", "0.98 ± 0.01", "0.1, 0.2"], ["k-means", "-0.50", ""]]


class FakeReport:
    def to_json(self):
        return {"benchmark": "mog", "ari": 0.98}

    def tables(self):
        return [("mixtures [of] Gaussians", HEADER, ROWS)]


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Stand in for the benchmark, which takes minutes, and keep what it was asked for."""
    calls = []

    def run_mog(n_sets, n_peer_sets, seed, progress, *, weights):
        calls.append((n_sets, n_peer_sets, seed, weights))
        for done in range(3):
            progress("ours", done, 2)
        return FakeReport()

    module = ModuleType("coterie.bench.mog")
    module.run_mog = run_mog
    monkeypatch.setitem(sys.modules, "coterie.bench.mog", module)
    monkeypatch.chdir(tmp_path)
    return calls


def run(*arguments):
    return CliRunner().invoke(app, ["bench", "mog", *arguments])


def test_options_reach_the_benchmark(calls):
    result = run("--sets", "5", "--peer-sets", "3", "--seed", "2")
    assert result.exit_code == 0, result.output
    assert calls == [(5, 3, 2, "dac-mog2d")]


def test_unknown_weights_are_refused_before_the_work(calls):
    result = run("--weights", "nobody")
    assert result.exit_code == 2
    assert "no model 'nobody'" in result.stderr
    assert calls == []


def test_the_tables_are_shown_as_they_are(calls):
    lines = run().stdout.splitlines()
    assert lines[0] == "mixtures [of] Gaussians"
    cells = [line.split("  ") for line in lines]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in cells]
    for row in (HEADER, *ROWS):
        assert [cell for cell in row if cell] in cells


def test_results_are_written_where_they_belong_and_progress_is_silent(calls, tmp_path):
    result = run()
    assert json.loads((tmp_path / "benchmarks/results/mog.json").read_text())["ari"] == 0.98
    assert "benchmarks/results/mog.json" in result.stdout
    assert result.stderr == ""
    run("--out", "else/where")
    assert (tmp_path / "else/where/mog.json").exists()


def test_a_folder_that_cannot_be_made_is_refused_before_the_work(calls, tmp_path):
    (tmp_path / "file").write_text("")
    result = run("--out", "file/folder")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "file/folder" in line
    assert calls == []


def test_a_table_that_fits_stays_whole():
    (whole,) = pieces(HEADER, ROWS, 80)
    assert [column.name for column in whole] == HEADER


def test_a_wide_table_is_cut_and_every_piece_names_its_rows():
    header = ["setting", "method", *(f"metric {number}" for number in range(6))]
    rows = [["(1000, 4)", "DAC", *["0.983 ± 0.014"] * 6]]
    cut = pieces(header, rows, 80)
    assert len(cut) > 1
    for piece in cut:
        assert [column.name for column in piece[:2]] == header[:2]
        assert sum(cell_len(column.cells[0]) + 3 for column in piece) < 80
    assert [column.name for piece in cut for column in piece[2:]] == header[2:]


def test_a_column_wider_than_the_terminal_gets_a_piece_and_no_endless_cut():
    cut = pieces(["method", "a", "b"], [["DAC", "1" * 90, "2"]], 80)
    assert [[column.name for column in piece] for piece in cut] == [
        ["method", "a"],
        ["method", "b"],
    ]
