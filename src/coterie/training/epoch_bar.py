"""A bar for a training run in epochs, in a terminal."""

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from torch import nn

from coterie.training.callbacks import Progress
from coterie.training.epoch_history import Epoch


class EpochBar:
    """Epochs, ELBO, entropy of the posterior, balance of the clusters, and the time left.

    The balance is the share of the smallest and of the largest cluster.
    """

    def __init__(self, console: Console, steps_per_epoch: int) -> None:
        self.steps_per_epoch = steps_per_epoch
        self._bar = RichProgress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("training", total=None, epoch="", state="")

    def show(self, progress: Progress, epoch: Epoch | None) -> None:
        """Take note of a step, and of the epoch that it ends."""
        self._bar.start()
        self._bar.update(
            self._task,
            total=progress.steps,
            completed=progress.step,
            epoch=f"{progress.step // self.steps_per_epoch}"
            f" of {progress.steps // self.steps_per_epoch}",
        )
        if epoch is not None:
            self._bar.update(self._task, state=in_words(epoch))

    def on_end(self, system: nn.Module) -> None:
        self.stop()

    def stop(self) -> None:
        """Leave the bar as it is."""
        self._bar.stop()


def in_words(epoch: Epoch) -> str:
    """As ELBO -7.912, entropy 1.80, clusters 8.8 % to 11.2 %."""
    return (
        f"ELBO {epoch.elbo:.3f}, entropy {epoch.entropy:.2f},"
        f" clusters {epoch.smallest:.1%} to {epoch.largest:.1%}"
    )
