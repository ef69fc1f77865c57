"""A short campaign; `python benchmarks/reliability requests --attempts 100000` is the long one."""

import asyncio
import logging
import os
import socket
import threading
import time
from pathlib import Path

import pytest

uvicorn = pytest.importorskip("uvicorn")

from coterie.playground.app import make_app  # noqa: E402
from coterie.playground.serving import make_config  # noqa: E402
from coterie.playground.settings import Settings  # noqa: E402
from reliability import _request_attempts  # noqa: E402
from reliability._request_attempts import make_attempts  # noqa: E402
from reliability.requests import memory, send_all, tracebacks  # noqa: E402

ATTEMPTS, FIRST = 400, 200
# So few that the workers have loaded them all before memory is measured first.
METHODS = (
    "amcp-mog2d",
    "amcp-universal-small",
    "dac-mog2d",
    "act_st-mog2d",
    "ncp-mog2d",
    "hdbscan",
)
LIMITS = Settings(max_points=2_000, max_columns=16, max_bytes=100_000, seconds=30, workers=2)


@pytest.fixture
def port():
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(make_config(make_app(LIMITS), header_seconds=0.5, shutdown_seconds=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join()
    listener.close()


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux")
def test_no_request_breaks_the_server(port, caplog, monkeypatch):
    monkeypatch.setattr(_request_attempts, "METHODS", METHODS)
    logger = logging.getLogger("uvicorn.error")
    logger.addHandler(caplog.handler)
    sizes = []
    wanted = make_attempts(ATTEMPTS, 0, max_bytes=LIMITS.max_bytes, slow=0.01)
    tally = asyncio.run(
        send_all(
            "127.0.0.1",
            port,
            wanted,
            first=FIRST,
            after_first=lambda: sizes.append(memory(os.getpid())),
        )
    )
    logger.removeHandler(caplog.handler)
    assert tally.failures == []
    assert tally.statuses.total() == ATTEMPTS
    assert not [status for status in tally.statuses if status.startswith("5")]
    assert {"200", "400", "403", "413", "421", "422", "left", "closed"} <= set(tally.statuses)
    assert len(tally.kinds) >= 11
    assert tracebacks(caplog.text) == 0
    assert memory(os.getpid()) < 1.1 * sizes[0]


def test_a_seed_gives_the_same_attempts():
    first, second = (list(make_attempts(50, 3, max_bytes=9, slow=0.02)) for _ in range(2))
    assert first == second
    assert first != list(make_attempts(50, 4, max_bytes=9, slow=0.02))
