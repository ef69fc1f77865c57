import io
import time

import pytest
from rich.console import Console

from coterie.cli import progress


@pytest.fixture
def screen(monkeypatch):
    """A terminal that somebody watches."""
    memory = io.StringIO()
    monkeypatch.setattr(
        progress,
        "Console",
        lambda stderr: Console(file=memory, force_terminal=stderr, width=100, color_system=None),
    )
    return memory


def test_short_work_shows_nothing(screen, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 600)
    with progress.stages() as begin:
        begin("reading")(1.0)
    assert "reading" not in screen.getvalue()


def test_long_work_shows_what_is_done_and_the_time_left(screen, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.02)
    with progress.stages() as begin:
        reading = begin("reading")
        for share in (0.1, 0.2, 0.3, 0.4):
            reading(share)
        for _ in range(6000):  # until the bar is drawn, by a thread of its own
            if "40%" in screen.getvalue():
                break
            time.sleep(0.01)
    assert "reading" in screen.getvalue()
    assert "40%" in screen.getvalue()


def test_nobody_watches_no_bars(monkeypatch):
    memory = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda stderr: Console(file=memory))
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    with progress.stages() as begin:
        begin("reading")(0.5)
        time.sleep(0.1)
    assert memory.getvalue() == ""


def test_a_failure_passes_through(screen):
    with pytest.raises(ZeroDivisionError), progress.stages():
        raise ZeroDivisionError
