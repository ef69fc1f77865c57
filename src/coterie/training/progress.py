"""Where a training run is: a bar in a terminal, now and then a line elsewhere."""

import time
from collections.abc import Callable
from datetime import timedelta

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from torch import nn

from coterie.training.callbacks import Progress

FIRST_LINE, NEXT_LINE = 10.0, 30.0  # seconds


class ProgressBar:
    """Steps, loss and time remaining, if the output is a terminal."""

    def __init__(self, console: Console, every: int = 10) -> None:
        self.every = every
        self._bar = RichProgress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("training", total=None, loss="")

    def on_step(self, progress: Progress) -> None:
        self._bar.start()
        if progress.step % self.every == 0 or progress.step == progress.steps:
            self._bar.update(
                self._task,
                total=progress.steps,
                completed=progress.step,
                loss=f"{float(progress.loss):.4f}",
            )

    def on_end(self, system: nn.Module) -> None:
        self._bar.stop()


class ProgressLines:
    """A line after ten seconds and then every half minute: steps, loss, time remaining."""

    def __init__(
        self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.say, self._clock = say, clock
        self._began = clock()
        self._next = self._began + FIRST_LINE
        self._before: int | None = None  # the steps that an earlier run took

    def on_step(self, progress: Progress) -> None:
        if self._before is None:
            self._before = progress.step - 1
        now = self._clock()
        if progress.rank or now < self._next or progress.step == progress.steps:
            return
        self._next = now + NEXT_LINE
        taken, left = progress.step - self._before, progress.steps - progress.step
        elapsed = now - self._began
        self.say(
            f"step {progress.step:,} of {progress.steps:,}, loss {float(progress.loss):.4f},"
            f" {_in_words(elapsed)} elapsed, about {_in_words(elapsed / taken * left)} left"
        )


def _in_words(seconds: float) -> str:
    """As 0:01:30."""
    return str(timedelta(seconds=round(seconds)))
