"""Clients that are slow or leave, over bare sockets."""

import logging
import socket
import time
from urllib.parse import urlsplit

import httpx
import pytest

from coterie.playground.settings import Settings

HALF = b"GET /api/limits HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
CHUNKED = b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
POST = b"POST /api/cluster HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def impatient(serving):
    """A server that waits a second for headers."""
    with serving(Settings(workers=1), header_seconds=1.0) as where:
        yield where


def reach(where):
    address = urlsplit(where)
    return socket.create_connection((address.hostname, address.port), timeout=60)


def is_closed(connection):
    """Waits until the server closes the connection, having said nothing."""
    try:
        return connection.recv(1000) == b""
    except ConnectionResetError:
        return True


def test_headers_that_do_not_end_are_given_up(impatient):
    many = [reach(impatient) for _ in range(25)]
    for number, connection in enumerate(many):
        if number:  # the first says nothing at all
            connection.sendall(HALF)
    assert httpx.get(f"{impatient}/api/limits", timeout=60).status_code == 200
    assert all(is_closed(connection) for connection in many)
    for connection in many:
        connection.close()


def is_cut(connection):
    """Sends letter after letter until the server does not take them any more."""
    for _ in range(600):
        try:
            connection.sendall(b"x")
        except OSError:
            return True
        time.sleep(0.1)
    return False


def test_headers_that_trickle_are_given_up(impatient):
    with reach(impatient) as connection:
        connection.sendall(HALF)
        assert is_cut(connection)


def test_a_second_request_has_a_limit_too(impatient):
    with reach(impatient) as connection:
        connection.sendall(b"GET /api/limits HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in connection.recv(10_000)
        connection.sendall(HALF)
        while connection.recv(10_000):
            pass


def test_who_sends_too_long_an_address_gets_the_answer(impatient):
    """It arrives although most of the address has not been read when it is refused."""
    for _ in range(20):
        with reach(impatient) as connection:
            connection.sendall(b"GET /api/limits?" + b"x" * 3_000_000)
            answer = b""
            while part := connection.recv(10_000):
                answer += part
            assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("before", [b"", CHUNKED])
def test_who_is_refused_and_stays_is_given_up(impatient, log, before):
    """Also in the body of a request that would be answered without it."""
    with log.at_level(logging.ERROR):
        for _ in range(3):
            with reach(impatient) as connection:
                connection.sendall(before + b"no request\r\n\r\n")
                assert is_cut(connection)
        assert httpx.get(f"{impatient}/api/limits", timeout=60).status_code == 200
    assert log.records == []


def test_a_request_that_takes_its_time_is_answered(impatient):
    """The limit is for headers; a body may take longer."""
    body = b'{"points": [[0, 0], [1, 1]]}'
    with reach(impatient) as connection:
        connection.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(body))
        time.sleep(1.5)
        connection.sendall(body)
        assert b"200 OK" in connection.recv(10_000)


@pytest.fixture
def log(caplog):
    """What the server logs, which it does not pass on to the handlers of others."""
    logger = logging.getLogger("uvicorn.error")
    logger.addHandler(caplog.handler)
    yield caplog
    logger.removeHandler(caplog.handler)


def test_who_leaves_in_mid_body_leaves_no_traceback(impatient, log):
    with log.at_level(logging.WARNING):
        for path in (b"/api/cluster", b"/api/table"):
            kind = b"application/json" if path == b"/api/cluster" else b"text/csv"
            with reach(impatient) as connection:
                connection.sendall(
                    b"POST "
                    + path
                    + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                    + kind
                    + b"\r\nContent-Length: 1000\r\n\r\n{"
                )
        # Those who come later are answered after those who left.
        for _ in range(3):
            answer = httpx.post(f"{impatient}/api/cluster", json={"points": [[0, 0]]}, timeout=60)
            assert answer.status_code == 200
    assert log.records == []
