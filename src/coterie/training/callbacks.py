"""What watches a training run: a log for machines, a progress bar for people."""

import json
import time
from pathlib import Path

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

from coterie.training.trainer import Progress


class JsonLog:
    """One JSON object a line: step, mean loss since the last line, learning rate, seconds.

    A resumed run appends; lines of steps that are taken again stand twice, the later one counts.
    """

    def __init__(self, path: Path, every: int = 50) -> None:
        self.path, self.every = Path(path), every
        self._losses: list = []
        self._began = time.monotonic()

    def on_step(self, progress: Progress) -> None:
        self._losses.append(progress.loss)
        if progress.step % self.every and progress.step != progress.steps:
            return
        mean = sum(float(loss) for loss in self._losses) / len(self._losses)
        self._losses.clear()
        line = {
            "step": progress.step,
            "loss": round(mean, 6),
            "learning_rate": progress.learning_rate,
            "seconds": round(time.monotonic() - self._began, 3),
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")


class ProgressBar:
    """Steps done, loss and time left, on a terminal; silent elsewhere."""

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
