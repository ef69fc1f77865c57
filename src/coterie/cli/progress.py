"""Progress bars on stderr, if it is a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

PATIENCE = 1.0  # seconds before the bars appear


class Report(Protocol):
    """Tells the share that is done, and a detail beside the bar."""

    def __call__(self, share: float, detail: str = "") -> None:
        """Tell."""


# Begins a stage and returns a function that reports on it.
Begin = Callable[[str], Report]


@contextmanager
def stages() -> Iterator[Begin]:
    """One bar per stage, with the time remaining.

    The bars appear after a second and are removed at the end. The bar of a stage that reports no
    share pulses.
    """
    console = Console(stderr=True)
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[detail]}"),
        TimeRemainingColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    patience = Timer(PATIENCE, bars.start)
    patience.daemon = True

    def begin(name: str) -> Report:
        for task in bars.tasks:
            bars.update(task.id, total=1.0, completed=1.0)
        current = bars.add_task(name, total=None, detail="")
        return lambda share, detail="": bars.update(
            current, total=1.0, completed=share, detail=detail
        )

    if console.is_terminal:
        patience.start()
    try:
        yield begin
    finally:
        patience.cancel()
        if patience.is_alive():
            patience.join()
        bars.stop()
