import json

import torch

import coterie
from bench import machine
from bench.machine import Stopwatch, describe_machine


def test_the_machine_says_what_matters():
    description = describe_machine()
    assert description["cpu"]
    assert description["cores"] >= 1
    assert description["torch"] == torch.__version__
    assert description["coterie"] == coterie.__version__
    json.dumps(description, allow_nan=False)


def test_others_share_counts_the_work_of_others(tmp_path, monkeypatch):
    times = tmp_path / "stat"
    monkeypatch.setattr(machine, "CPU_TIMES", times)
    times.write_text("cpu  100 0 0 500 0 0 0 0 0 0\n")
    stopwatch = Stopwatch()
    times.write_text("cpu  100 0 0 999999 0 0 0 0 0 0\n")
    assert stopwatch.others_share() == 0.0
    times.write_text("cpu  9999999 0 0 999999 0 0 0 0 0 0\n")
    assert stopwatch.others_share() == 1.0


def test_others_share_is_unknown_where_the_system_does_not_say(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "CPU_TIMES", tmp_path / "nothing")
    assert Stopwatch().others_share() is None
