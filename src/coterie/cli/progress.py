"""Bars for work that takes more than a moment."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

PATIENCE = 1.0  # seconds without a bar

# Begins a stage of the work; what it gives back is told the share that is done.
Begin = Callable[[str], Callable[[float], None]]


@contextmanager
def stages() -> Iterator[Begin]:
    """Bars on stderr, one for each stage, with the time left; none where nobody watches.

    They come after a second and are gone at the end. A stage that tells no share has no end to
    foresee, and its bar goes to and fro.
    """
    console = Console(stderr=True)
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    patience = Timer(PATIENCE, bars.start)
    patience.daemon = True

    def begin(name: str) -> Callable[[float], None]:
        for task in bars.tasks:
            bars.update(task.id, total=1.0, completed=1.0)
        current = bars.add_task(name, total=None)
        return lambda share: bars.update(current, total=1.0, completed=share)

    if console.is_terminal:
        patience.start()
    try:
        yield begin
    finally:
        patience.cancel()
        if patience.is_alive():
            patience.join()
        bars.stop()
