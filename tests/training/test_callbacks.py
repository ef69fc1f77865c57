import io
import json

import pytest
import torch
from rich.console import Console
from torch import nn

from coterie.training.callbacks import JsonLog, ProgressBar
from coterie.training.trainer import Progress


def progress(step: int, loss: float = 0.0) -> Progress:
    return Progress(step, 10, torch.tensor(loss), 0.1 * step, nn.Identity())


def lines(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs" / "log.jsonl"


def test_log_has_a_line_every_few_steps_and_at_the_end(path):
    log = JsonLog(path, every=4)
    for step in range(1, 11):
        log.on_step(progress(step))
    assert [line["step"] for line in lines(path)] == [4, 8, 10]


def test_log_says_the_mean_loss_since_the_line_before(path):
    log = JsonLog(path, every=2)
    for step, loss in enumerate([1.0, 3.0, 10.0, 20.0], start=1):
        log.on_step(progress(step, loss))
    assert [line["loss"] for line in lines(path)] == [2.0, 15.0]


def test_log_says_the_learning_rate_and_the_time(path):
    JsonLog(path, every=1).on_step(progress(3))
    (line,) = lines(path)
    assert set(line) == {"step", "loss", "learning_rate", "seconds"}
    assert line["learning_rate"] == pytest.approx(0.3)
    assert line["seconds"] >= 0


def test_log_of_a_resumed_run_is_appended(path):
    for step in (1, 2):
        JsonLog(path, every=1).on_step(progress(step))
    assert [line["step"] for line in lines(path)] == [1, 2]


def test_progress_bar_tells_a_terminal_where_it_is():
    screen = io.StringIO()
    bar = ProgressBar(Console(file=screen, force_terminal=True, width=100), every=1)
    bar.on_step(progress(7, 1.25))
    bar.on_end(nn.Identity())
    assert "7/10" in screen.getvalue()
    assert "1.2500" in screen.getvalue()


def test_progress_bar_is_silent_elsewhere():
    paper = io.StringIO()
    bar = ProgressBar(Console(file=paper, force_terminal=False), every=1)
    bar.on_step(progress(7, 1.25))
    bar.on_end(nn.Identity())
    assert paper.getvalue().strip() == ""
