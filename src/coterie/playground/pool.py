"""Worker processes with a time limit.

Unlike a thread, a process that computes for too long can be killed and replaced.
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
    """Start importing what all workers need, once, in parallel with the server's own imports."""
    if START == "forkserver":
        from multiprocessing import forkserver  # not available on every system

        multiprocessing.get_context(START).set_forkserver_preload([HOME])
        forkserver.ensure_running()


class Busy(Exception):
    """All workers and all places in the queue are taken."""


class TooSlow(Exception):
    """The job was stopped at the time limit."""


class Died(Exception):
    """The worker died during the job, for example for lack of memory."""


def _serve(ours: Connection, warm_up: Callable[[], None], do: Callable[[Any], Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server handles Ctrl+C and kills its workers
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
        theirs.close()  # so that the pipe closes with the process

    def ask(self, job: Any, seconds: float) -> Any:
        """Run a job; after `TooSlow` or `Died` the worker must be replaced."""
        try:
            self._connection.send(job)
            if not self._connection.poll(seconds):
                raise TooSlow
            return self._connection.recv()
        except (EOFError, OSError):
            raise Died from None

    def stop(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()
        self._connection.close()


class Pool:
    """Workers with a queue of bounded length and waiting time."""

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
        """The result of a job, or None if it is unwanted when its turn comes.

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
        """Stop all workers."""
        for worker in self._all:
            worker.stop()
