"""End a command on Ctrl+C, SIGTERM or SIGHUP: one line on stderr, and nothing is left behind.

The exit code is 128 plus the number of the signal, as shells expect.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import typer

if TYPE_CHECKING:
    from coterie.training.callbacks import Progress
    from coterie.training.recipe import Recipe

INTERRUPTED = 128 + signal.SIGINT
WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
# What asks a process to end, beside Ctrl+C; Windows has no SIGHUP.
ENDINGS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended(KeyboardInterrupt):
    """A command was asked to end: like Ctrl+C, so that files half written are removed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def how(error: KeyboardInterrupt) -> str:
    """The signal in a word."""
    return WORDS[signal.Signals(_number(error)).name]


def interrupt(error: KeyboardInterrupt, message: str = "") -> NoReturn:
    """Exit an interrupted command with one line."""
    typer.echo(f"coterie: {message or how(error)}", err=True)
    raise typer.Exit(128 + _number(error))


def _number(error: KeyboardInterrupt) -> int:
    return error.number if isinstance(error, Ended) else int(signal.SIGINT)


@contextmanager
def ending_in_words() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an exception inside; without it, they kill at once.

    A signal that is ignored, as SIGHUP under nohup, or that has a handler keeps it.
    """
    listened = []
    if current_thread() is main_thread():  # no other may set handlers
        listened = [each for each in ENDINGS if signal.getsignal(each) is signal.SIG_DFL]
    for each in listened:
        signal.signal(each, _end)
    try:
        yield
    finally:
        for each in listened:
            signal.signal(each, signal.SIG_DFL)


def _end(number: int, _: FrameType | None) -> NoReturn:
    for each in ENDINGS:  # once is enough: a second must not disturb the clearing up
        if signal.getsignal(each) is _end:
            signal.signal(each, signal.SIG_IGN)
    raise Ended(number)


class LastStep:
    """When asked to end, finish and save the current step; asked a second time, end at once.

    A training callback and a context manager around the training.
    """

    def __init__(self, checkpoint: Path, recipe: "Recipe") -> None:
        self._checkpoint, self._recipe = checkpoint, recipe
        self._asked: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listen_no_more()

    def before_step(self, step: int, optimizers: Any) -> None:
        # Not earlier: before the first step there is nothing to finish. A background command
        # ignores SIGINT, and continues to do so.
        if self._asked is not None or self._before:
            return
        for each in (signal.SIGINT, *ENDINGS):
            if signal.getsignal(each) in (signal.default_int_handler, _end):
                self._before[each] = signal.signal(each, self._ask)

    def on_step(self, progress: "Progress") -> None:
        from coterie.training.callbacks import Checkpoints

        if progress.step == progress.steps:
            self._listen_no_more()
        if self._asked is None:
            return
        Checkpoints(self._checkpoint, self._recipe).save(progress)
        raise KeyboardInterrupt if self._asked == signal.SIGINT else Ended(self._asked)

    def _ask(self, number: int, _: object) -> None:
        self._asked = number
        self._listen_no_more()

    def _listen_no_more(self) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)
        self._before.clear()
