"""Attempts in a process of their own: one that dies or hangs is a failure, and the rest go on."""

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

START = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
# So that a process starts at once. A program has one server, so this is what all campaigns need.
PRELOADED = (
    *("coterie.training.trainer", "reliability.files", "reliability.inputs", "reliability.kills"),
)
HANG = 20  # seconds of the processor: those of the wall depend on what else runs
PATIENCE = 200  # seconds of the wall, for code that no signal interrupts


@dataclass(frozen=True)
class Ending:
    """What became of an attempt: its kind, the outcome in a word or how it failed, its seconds."""

    kind: str
    outcome: str
    seconds: float = 0.0


Attempt = Callable[[int, int], tuple[str, str]]  # (seed, number) -> kind, outcome


class Hang(BaseException):
    """An attempt has used up its time. No `Exception`, so that nothing under test handles it."""


def endings(attempt: Attempt, attempts: int, seed: int) -> Iterator[Ending]:
    """What becomes of the attempts 0, 1, ..., each determined by the seed and its number."""
    number = 0
    while number < attempts:
        process, answers = _start(attempt, seed, number, attempts)
        try:
            while number < attempts:
                number += 1
                if not answers.poll(PATIENCE):
                    yield Ending("?", f"no answer in {PATIENCE} s")
                    break
                try:
                    ending = answers.recv()
                except EOFError:
                    process.join()
                    yield Ending("?", f"the process ended with code {process.exitcode}")
                    break
                yield ending
        finally:
            process.kill()
            process.join()


def timed(attempt: Attempt, seed: int, number: int) -> Ending:
    """One attempt in this process, with its seconds of the processor."""
    began = time.process_time()
    try:
        with _time_limit():
            kind, outcome = attempt(seed, number)
    except Hang:
        kind, outcome = "?", f"no answer in {HANG} s"
    return Ending(kind, outcome, time.process_time() - began)


def _start(attempt: Attempt, seed: int, first: int, end: int) -> tuple[Any, Any]:
    context: Any = multiprocessing.get_context(START)
    if START == "forkserver":
        context.set_forkserver_preload([*PRELOADED])
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(attempt, seed, first, end, sending))
    process.start()
    sending.close()
    return process, receiving


def _work(attempt: Attempt, seed: int, first: int, end: int, answers: Any) -> None:
    import torch

    torch.set_num_threads(1)
    for number in range(first, end):
        answers.send(timed(attempt, seed, number))


@contextmanager
def _time_limit() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, HANG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
