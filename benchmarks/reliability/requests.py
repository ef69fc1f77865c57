"""A campaign of requests against `coterie serve`: what is answered, what is logged, what is kept.

    python benchmarks/reliability requests --attempts 100000

prints one row of JSON.
"""

import asyncio
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reliability._request_attempts import Attempt, make_attempts, request

CLIENTS = 16
PATIENCE = 60.0  # seconds until an answer counts as a hang
FIRST = 1_000  # attempts after which memory is measured first
SLOW = 0.0005
LIMITS = {"max-points": 2_000, "max-columns": 16, "max-bytes": 200_000, "seconds": 10}
TRICKLE = 0.5  # seconds between two bytes of a slow client


@dataclass
class Tally:
    """Outcomes of a campaign.

    statuses: how often each status was received, "closed" where the server hung up without one,
    "left" where the client did, "hang" where nothing happened; slowest: in seconds, without clients
    that are slow themselves; failures: the first attempts that ended in 5xx or a hang.
    """

    statuses: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    failures: list[str] = field(default_factory=list)

    def add(self, attempt: Attempt, status: str, seconds: float) -> None:
        """Count an outcome."""
        self.statuses[status] += 1
        self.kinds[attempt.kind] += 1
        if attempt.manner != "trickle":
            self.slowest = max(self.slowest, seconds)
        if (status.startswith("5") or status == "hang") and len(self.failures) < 10:
            self.failures.append(f"{status}: {attempt.kind}: {attempt.data[:200]!r}")


async def make_attempt(host: str, port: int, attempt: Attempt) -> str:
    """The status of the answer, or how it ended otherwise."""
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                return await _ask(reader, writer, attempt)
            except ConnectionError:
                return "closed"
            finally:
                writer.close()
    except TimeoutError:
        return "hang"


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, attempt: Attempt) -> str:
    data = attempt.data
    if attempt.manner == "leave":
        writer.write(data[: len(data) // 2])
        await writer.drain()
        return "left"
    if attempt.manner == "trickle":
        sending = asyncio.create_task(_trickle(writer, data))
    else:
        writer.write(data)
        sending = asyncio.create_task(writer.drain())
    try:
        if attempt.manner == "leave early":
            await sending
            return "left"
        answer = await reader.read(200)
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    found = re.match(rb"HTTP/1\.[01] (\d{3})", answer)
    return found.group(1).decode() if found else "closed"


async def _trickle(writer: asyncio.StreamWriter, data: bytes) -> None:
    for at in range(len(data)):
        writer.write(data[at : at + 1])
        await writer.drain()
        await asyncio.sleep(TRICKLE)


async def send_all(
    host: str,
    port: int,
    wanted: Iterable[Attempt],
    *,
    clients: int = CLIENTS,
    first: int = FIRST,
    after_first: Callable[[], None] = lambda: None,
) -> Tally:
    """All attempts, by so many clients at a time; `after_first` is called after the first ones."""
    tally, queue = Tally(), iter(wanted)

    async def client() -> None:
        for attempt in queue:
            start = time.perf_counter()
            status = await make_attempt(host, port, attempt)
            tally.add(attempt, status, time.perf_counter() - start)
            if tally.statuses.total() == first:
                after_first()

    await asyncio.gather(*(client() for _ in range(clients)))
    return tally


def memory(pid: int) -> float:
    """The memory that a process and all that it started have written to, in MB.

    Pages that they only read are shared with whatever else runs on the machine.
    """
    total, waiting = 0.0, [pid]
    while waiting:
        each = Path(f"/proc/{waiting.pop()}")
        try:
            text = (each / "smaps_rollup").read_text()
            waiting += [
                int(child) for child in (each / f"task/{each.name}/children").read_text().split()
            ]
        except OSError:  # it has ended meanwhile
            continue
        found = re.search(r"^Private_Dirty:\s+(\d+) kB", text, re.MULTILINE)
        total += int(found.group(1)) / 1000 if found else 0.0
    return round(total, 1)


def _wait_for_workers(host: str, port: int) -> None:
    """Until both workers have answered: before, requests wait for their start."""
    body = b'{"points": [[0, 0], [1, 1], [5, 5]]}'
    question = Attempt("start", request("POST", "/api/cluster", body))

    async def ask() -> None:
        while await make_attempt(host, port, question) != "200":
            await asyncio.sleep(0.1)

    async def both() -> None:
        await asyncio.gather(ask(), ask())

    asyncio.run(both())


def tracebacks(log: str) -> int:
    """How many errors of the server's own a log tells of."""
    return log.count("Traceback (most recent call last)") + log.count("ERROR")


def run(attempts: int, seed: int = 0) -> dict[str, Any]:
    """Start a server, make the attempts, and tell what happened."""
    options = [f"--{name}={value}" for name, value in LIMITS.items()]
    program = [sys.executable, "-c", "from coterie.cli import main; main()"]
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(
            [*program, "serve", "--port=0", "--workers=2", *options],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            assert server.stdout is not None
            found = re.search(r"http://([\d.]+):(\d+)", server.stdout.readline())
            assert found is not None, "the server did not start"
            host, port = found.group(1), int(found.group(2))
            _wait_for_workers(host, port)
            marks: list[float] = []
            start = time.perf_counter()
            tally = asyncio.run(
                send_all(
                    host,
                    port,
                    make_attempts(attempts, seed, max_bytes=LIMITS["max-bytes"], slow=SLOW),
                    first=min(FIRST, attempts),
                    after_first=lambda: marks.append(memory(server.pid)),
                )
            )
            seconds = time.perf_counter() - start
            at_end = memory(server.pid)
        finally:
            server.send_signal(signal.SIGINT)
            code = server.wait(60)
            if server.stdout is not None:
                server.stdout.close()
        log.seek(0)
        return {
            "attempts": tally.statuses.total(),
            "seed": seed,
            "seconds": round(seconds, 1),
            "statuses": dict(sorted(tally.statuses.items())),
            "kinds": dict(sorted(tally.kinds.items())),
            "server_errors": sum(n for s, n in tally.statuses.items() if s.startswith("5")),
            "hangs": tally.statuses["hang"],
            "tracebacks": tracebacks(log.read()),
            "slowest_seconds": round(tally.slowest, 2),
            "memory_mb_after_first": marks[0],
            "memory_mb_at_end": at_end,
            "exit_code": code,
            "failures": tally.failures,
        }


def campaign(attempts: int, seed: int = 0) -> dict[str, Any]:
    """The same, by the name under which all campaigns are run."""
    return run(attempts, seed)
