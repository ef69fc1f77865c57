import io

import torch
from rich.console import Console
from torch import nn

from coterie.training.callbacks import Progress
from coterie.training.progress import ProgressBar, ProgressLines


def progress(step: int, loss: float = 0.0, steps: int = 10) -> Progress:
    optimizer = torch.optim.Adam([nn.Parameter(torch.zeros(1))])
    return Progress(step, steps, torch.tensor(loss), nn.Identity(), (optimizer,))


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


def test_elsewhere_a_line_comes_now_and_then():
    said, now = [], [0.0]
    lines = ProgressLines(said.append, clock=lambda: now[0])
    for step in range(101, 1001):  # of a run that was resumed
        now[0] += 0.125
        lines.on_step(progress(step, 0.5, steps=1000))
    assert said == [
        "step 180 of 1,000, loss 0.5000, 0:00:10 elapsed, about 0:01:42 left",
        "step 420 of 1,000, loss 0.5000, 0:00:40 elapsed, about 0:01:12 left",
        "step 660 of 1,000, loss 0.5000, 0:01:10 elapsed, about 0:00:42 left",
        "step 900 of 1,000, loss 0.5000, 0:01:40 elapsed, about 0:00:12 left",
    ]


def test_further_devices_say_nothing():
    said = []
    lines = ProgressLines(said.append, clock=iter(range(0, 9000, 1000)).__next__)
    for step in (1, 2, 3):
        lines.on_step(progress(step)._replace(rank=1))
    assert said == []
