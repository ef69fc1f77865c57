"""Worker processes with a time limit.

A thread that computes for too long cannot be stopped, a process can: it is killed, and the next one
takes its place.
"""

import asyncio
import multiprocessing
import signal
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from typing import Any

START = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
HOME = "coterie.playground.work"


def prepare() -> None:
    """Begin to import what all workers need, once for all of them and beside the server's own."""
    if START == "forkserver":
        from multiprocessing import forkserver  # not there on every system

        multiprocessing.get_context(START).set_forkserver_preload([HOME])
        forkserver.ensure_running()


class Busy(Exception):
    """All workers are taken, and so are the places to wait."""


class TooSlow(Exception):
    """A job that was stopped at the time limit."""


class Died(Exception):
    """A job that ended its worker, for example for want of memory."""


def _serve(ours: Connection, warm_up: Callable[[], None], do: Callable[[Any], Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the server, who then kills us
    warm_up()
    while True:
        try:
            job = ours.recv()
        except EOFError:  # the server is gone
            return
        ours.send(do(job))


class Worker:
    """A process that does one job after another."""

    def __init__(self, warm_up: Callable[[], None], do: Callable[[Any], Any]) -> None:
        prepare()
        context = multiprocessing.get_context(START)
        self._connection, theirs = context.Pipe()
        self._process = context.Process(  # type: ignore[attr-defined]
            target=_serve, args=(theirs, warm_up, do), daemon=True
        )
        self._process.start()
        theirs.close()  # so that the end of the process is the end of the pipe

    def ask(self, job: Any, seconds: float) -> Any:
        """Do a job; raises `TooSlow` or `Died`, after which the worker is of no use."""
        try:
            self._connection.send(job)
            if not self._connection.poll(seconds):
                raise TooSlow
            return self._connection.recv()
        except (EOFError, OSError):
            raise Died from None

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.join()
        self._connection.close()


class Pool:
    """Some workers, and a queue of bounded length and patience before them."""

    def __init__(
        self,
        warm_up: Callable[[], None],
        do: Callable[[Any], Any],
        *,
        workers: int,
        waiting: int,
        seconds: float,
    ) -> None:
        self._make = lambda: Worker(warm_up, do)
        self._all = [self._make() for _ in range(workers)]
        self._idle: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()
        for worker in self._all:
            self._idle.put_nowait(worker)
        self._places = workers + waiting
        self._taken = 0
        self._seconds = seconds

    async def run(self, job: Any, unwanted: Callable[[], Awaitable[bool]] | None = None) -> Any:
        """The answer to a job, or None where nobody wants it any more when its turn comes.

        Raises `Busy`, `TooSlow` or `Died`.
        """
        if self._taken >= self._places:
            raise Busy
        self._taken += 1
        try:
            worker = await self._next_worker()
            try:
                if unwanted is not None and await unwanted():
                    return None
                return await asyncio.to_thread(worker.ask, job, self._seconds)
            except (TooSlow, Died, asyncio.CancelledError):
                worker = self._replace(worker)
                raise
            finally:
                self._idle.put_nowait(worker)
        finally:
            self._taken -= 1

    async def _next_worker(self) -> Worker:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._idle.get()
        except TimeoutError:
            raise Busy from None

    def _replace(self, worker: Worker) -> Worker:
        worker.stop()
        fresh = self._make()
        self._all[self._all.index(worker)] = fresh
        return fresh

    def close(self) -> None:
        """End all workers."""
        for worker in self._all:
            worker.stop()
