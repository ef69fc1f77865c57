"""End a command on Ctrl+C: exit code 130 and one line on stderr."""

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import typer

if TYPE_CHECKING:
    from coterie.training.callbacks import Progress
    from coterie.training.recipe import Recipe

INTERRUPTED = 130  # 128 plus the number of the signal, as shells expect


def interrupt(message: str = "interrupted") -> NoReturn:
    """Exit an interrupted command with one line."""
    typer.echo(f"coterie: {message}", err=True)
    raise typer.Exit(INTERRUPTED)


class LastStep:
    """On Ctrl+C, finish and save the current step; a second Ctrl+C exits at once.

    A training callback and a context manager around the training.
    """

    def __init__(self, checkpoint: Path, recipe: "Recipe") -> None:
        self._checkpoint, self._recipe = checkpoint, recipe
        self._asked = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listen_no_more()

    def before_step(self, step: int, optimizers: Any) -> None:
        # Not earlier: before the first step there is nothing to finish. A background command
        # ignores SIGINT, and continues to do so.
        if not self._asked and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._ask)

    def on_step(self, progress: "Progress") -> None:
        from coterie.training.callbacks import Checkpoints

        if progress.step == progress.steps:
            self._listen_no_more()
        if not self._asked:
            return
        Checkpoints(self._checkpoint, self._recipe).save(progress)
        raise KeyboardInterrupt

    def _ask(self, *_: object) -> None:
        self._asked = True
        self._listen_no_more()

    def _listen_no_more(self) -> None:
        if signal.getsignal(signal.SIGINT) == self._ask:
            signal.signal(signal.SIGINT, signal.default_int_handler)
