import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
import uvicorn
from visitor import Visitor

from coterie.playground.app import make_app
from coterie.playground.serving import make_config
from coterie.playground.settings import Settings


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One parallel worker makes all visits to the server, so that it starts once."""
    for item in items:
        if "address" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("server"))


@contextmanager
def _serving(settings: Settings, header_seconds: float = 10.0) -> Iterator[str]:
    """The address of a server that runs as a visitor meets it."""
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    config = make_config(make_app(settings), header_seconds=header_seconds, shutdown_seconds=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture(scope="session")
def serving():
    """Starts a server with limits of its own."""
    return _serving


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """A server with room for two and patience for a busy machine."""
    with _serving(Settings(workers=2, seconds=30)) as where:
        yield where


@pytest.fixture(scope="session")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
def strict() -> Iterator[httpx.Client]:
    """A server that allows next to nothing."""
    limits = Settings(
        max_points=50, max_columns=3, max_bytes=20_000, seconds=4, workers=1, waiting=0
    )
    with _serving(limits) as where, httpx.Client(base_url=where, timeout=60) as client:
        yield client


@pytest.fixture
def hasty() -> Iterator[httpx.Client]:
    """A server that gives no method enough time."""
    limits = Settings(seconds=0.05, workers=1)
    with _serving(limits) as where, httpx.Client(base_url=where, timeout=60) as client:
        yield client


@pytest.fixture
def visit(browser, address):
    """Opens the page; at the end nothing has gone wrong in it, and nobody else was asked."""
    visitors = []

    def enter(hash="", **settings):
        visitors.append(Visitor(browser, address, **settings))
        return visitors[-1].go(hash)

    yield enter
    for visitor in visitors:
        assert visitor.faults == []
        elsewhere = [url for url in visitor.asked if not url.startswith((address, "blob:"))]
        assert elsewhere == []
        visitor.context.close()


@pytest.fixture
def visitor(visit):
    return visit()
