"""A short campaign; `python benchmarks/reliability files --attempts 1000` is the long one."""

import os

import pytest
from typer.testing import CliRunner

from reliability._as_file import run_command
from reliability.files import attempt, campaign, write_models


def test_damaged_files_are_read_or_refused_in_one_line():
    row = campaign(40, seed=1)
    assert row["failures"] == []
    assert row["labels"] + row["refused"] == 40
    assert row["labels"] >= 4
    assert row["refused"] >= 15


@pytest.mark.parametrize("number", [0, 1])
def test_a_seed_gives_the_same_attempt(number, tmp_path):
    write_models(tmp_path)
    assert attempt(tmp_path, 5, number) == attempt(tmp_path, 5, number)


def test_a_file_left_behind_is_seen(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n1,2\n3,5\n4,4\n")
    assert run_command(path, "cluster", str(path), "--weights", "amcp-mog2d") == "labels"
    (tmp_path / "labelled.csv").unlink()
    more = ("--plot", str(tmp_path / "steps.png"))
    assert "steps.png" in run_command(path, "cluster", str(path), "--weights", "amcp-mog2d", *more)


def test_what_an_engine_prints_past_python_is_seen(tmp_path, monkeypatch):
    path, invoke = tmp_path / "table.csv", CliRunner.invoke
    path.write_text("x,y\n1,2\n3,5\n4,4\n")

    def panicking(*arguments):
        os.write(2, b"thread panicked")
        return invoke(*arguments)

    monkeypatch.setattr(CliRunner, "invoke", panicking)
    outcome = run_command(path, "cluster", str(path), "--weights", "amcp-mog2d")
    assert outcome == "an engine printed b'thread panicked'"
