import os
import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from typer.testing import CliRunner

from coterie.cli import serve as command
from coterie.cli.app import app


def run(*arguments, **environment):
    return CliRunner().invoke(app, ["serve", *arguments], env=environment)


@pytest.fixture
def asked(monkeypatch):
    """What a server was asked to be, where none is started."""
    uvicorn = pytest.importorskip("uvicorn")
    seen = {}

    class Stand:
        def __init__(self, config):
            seen["config"] = config

        def run(self, sockets):
            seen["address"] = sockets[0].getsockname()
            seen["protocol"] = sockets[0].proto
            sockets[0].close()

    monkeypatch.setattr(uvicorn, "Server", Stand)
    monkeypatch.setattr("coterie.playground.pool.prepare", lambda: None)
    monkeypatch.setattr(
        "coterie.playground.app.make_app",
        lambda limits, names: seen.update(limits=limits, names=names),
    )
    return seen


def test_only_this_machine_may_come_unless_told_otherwise(asked):
    result = run("--port", "0")
    assert result.exit_code == 0, result.output
    assert asked["address"][0] == "127.0.0.1"
    assert f"http://127.0.0.1:{asked['address'][1]}" in result.stdout
    assert result.stderr == ""
    result = run("--port", "0", "--host", "0.0.0.0")
    assert asked["address"][0] == "0.0.0.0"
    assert "anyone" in result.stderr


def test_names_beside_those_of_the_machine_are_allowed_one_by_one(asked):
    assert run("--port", "0").exit_code == 0
    assert asked["names"].has("localhost")
    assert not asked["names"].has("my.example")
    assert run("--port", "0", "--allow-host", "my.example", "--allow-host", "b").exit_code == 0
    assert asked["names"].has("my.example")
    assert asked["names"].has("b")
    assert not asked["names"].has("evil.example")


def test_ctrl_c_is_how_it_ends(asked, monkeypatch):
    import uvicorn

    def stopped(server, sockets):
        sockets[0].close()
        raise KeyboardInterrupt  # as uvicorn does when it has shut down

    monkeypatch.setattr(uvicorn.Server, "run", stopped)
    result = run("--port", "0")
    assert (result.exit_code, result.stderr) == (0, "")


def test_small_answers_are_sent_at_once(asked):
    """The event loop turns Nagle's algorithm off for what calls itself TCP alone."""
    run("--port", "0")
    assert asked["protocol"] == socket.IPPROTO_TCP


def test_limits_are_options_and_variables(asked):
    assert run("--port", "0", "--max-points", "77", "--seconds", "2.5").exit_code == 0
    assert asked["limits"].max_points == 77
    assert asked["limits"].seconds == 2.5
    assert run("--port", "0", COTERIE_WORKERS="3", COTERIE_MAX_BYTES="999").exit_code == 0
    assert asked["limits"].workers == 3
    assert asked["limits"].max_bytes == 999
    assert asked["limits"].max_points == type(asked["limits"])().max_points


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--workers", "0"], "workers must be at least 1"),
        (["--seconds", "nan"], "seconds must be a positive number"),
        (["--port", "70000"], "--port"),
        (["--host", "256.1.1.1"], "cannot listen on 256.1.1.1"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(asked, arguments, word):
    result = run(*arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert word in line


def test_a_port_that_is_taken_is_told(asked):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        result = run("--port", str(other.getsockname()[1]))
    assert result.exit_code == 2
    assert "choose another --port" in result.stderr


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = run("--port", "0")
    assert result.exit_code == 2
    assert "coterie[playground]" in result.stderr


def test_addresses_are_shown_as_a_browser_wants_them():
    assert command._shown("0.0.0.0") == "localhost"
    assert command._shown("::1") == "[::1]"


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_it_serves_and_stops_without_leaving_anything():
    pytest.importorskip("uvicorn")
    program = [sys.executable, "-c", "from coterie.cli import main; main()"]
    start = [*program, "serve", "--port", "0", "--workers", "1"]
    with subprocess.Popen(
        start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        address = re.search(r"http://\S+", server.stdout.readline()).group()
        body = {"points": [[0, 0], [0, 0.1], [5, 5]]}
        answer = httpx.post(f"{address}/api/cluster", json=body, timeout=300)
        assert len(answer.json()["labels"]) == 3
        server.send_signal(signal.SIGINT)
        assert server.wait(120) in (0, 130)
        assert server.stderr.read() == ""
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)
