"""Worker processes with a time limit.

Unlike a thread, a process that computes for too long can be killed and replaced.
"""

import asyncio
import multiprocessing
import signal
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

START = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
HOME = "coterie.playground.work"
START_SECONDS = 120.0  # for a worker to get ready, which is no job's fault
RESTART_SECONDS = 1.0  # between attempts to start a worker that does not
READY = "ready"


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
    ours.send(READY)
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

    def get_ready(self) -> None:
        """Wait until the worker has warmed up; if it cannot, it must be replaced."""
        try:
            if not self._connection.poll(START_SECONDS) or self._connection.recv() != READY:
                raise Died
        except (EOFError, OSError):
            raise Died from None

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
        """Kill the process.

        The pipe closes with this object: a thread may still wait in `ask` for its end, and would
        wait for a stranger if the number of the descriptor were free to be used again.
        """
        self._process.kill()
        self._process.join()


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
        self._threads = ThreadPoolExecutor(2 * workers, thread_name_prefix="worker")
        self._idle: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()
        self._is_up = asyncio.Event()  # since a first worker was ready
        self._starts: set[asyncio.Task[None]] = set()
        self._all = [self._start() for _ in range(workers)]
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
                answer = None
                if unwanted is None or not await unwanted():
                    answer = await self._in_thread(worker.ask, job, self._seconds)
            except (TooSlow, Died, asyncio.CancelledError):
                self._replace(worker)
                raise
            except Exception:
                self._idle.put_nowait(worker)
                raise
            self._idle.put_nowait(worker)
            return answer
        finally:
            self._taken -= 1

    async def _next_worker(self) -> Worker:
        """An idle worker. While the first one starts, waiting does not count as the queue's."""
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._is_up.wait()
            async with asyncio.timeout(self._seconds):
                return await self._idle.get()
        except TimeoutError:
            raise Busy from None

    def _start(self) -> Worker:
        worker = self._make()
        task = asyncio.get_running_loop().create_task(self._admit(worker))
        self._starts.add(task)
        task.add_done_callback(self._starts.discard)
        return worker

    async def _admit(self, worker: Worker) -> None:
        """Give jobs to a worker once it is ready, so that no job waits for its start."""
        try:
            await self._in_thread(worker.get_ready)
        except Died:
            await asyncio.sleep(RESTART_SECONDS)
            self._replace(worker)
            return
        self._idle.put_nowait(worker)
        self._is_up.set()

    def _replace(self, worker: Worker) -> None:
        worker.stop()
        self._all[self._all.index(worker)] = self._start()

    async def _in_thread(self, call: Callable[..., Any], *arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, call, *arguments)

    def close(self) -> None:
        """Stop all workers."""
        for task in self._starts:
            task.cancel()
        for worker in self._all:
            worker.stop()
        self._threads.shutdown(wait=False)
