"""How a command ends at Ctrl+C: exit code 130 and one line on stderr."""

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import typer

if TYPE_CHECKING:
    from coterie.training.callbacks import Progress
    from coterie.training.recipe import Recipe

INTERRUPTED = 130  # what shells expect: 128 and the number of the signal


def interrupt(message: str = "interrupted") -> NoReturn:
    """Leave a command that was interrupted with one line for people."""
    typer.echo(f"coterie: {message}", err=True)
    raise typer.Exit(INTERRUPTED)


class LastStep:
    """At Ctrl+C, the step that runs is finished and kept; a second Ctrl+C does not wait.

    A callback of training, to be entered around it.
    """

    def __init__(self, checkpoint: Path, recipe: "Recipe") -> None:
        self._checkpoint, self._recipe = checkpoint, recipe
        self._asked = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listen_no_more()

    def before_step(self, step: int, optimizer: Any) -> None:
        # Only now: Ctrl+C while the network is being built has no step to wait for. A command in
        # the background ignores it, and goes on doing so.
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
