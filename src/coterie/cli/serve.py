"""`coterie serve`: the playground in a browser."""

import socket
from contextlib import suppress
from typing import Annotated

import typer

from coterie.cli.refusal import refuse, refusing

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Who may come; 0.0.0.0 lets everybody in.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="0 takes any that is free.")
    ] = 8000,
    max_points: Annotated[
        int | None, typer.Option(metavar="N", envvar="COTERIE_MAX_POINTS", help="In one request.")
    ] = None,
    max_columns: Annotated[
        int | None, typer.Option(metavar="N", envvar="COTERIE_MAX_COLUMNS", help="In one request.")
    ] = None,
    max_bytes: Annotated[
        int | None, typer.Option(metavar="N", envvar="COTERIE_MAX_BYTES", help="In one request.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(metavar="S", envvar="COTERIE_SECONDS", help="For one clustering, at most."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", envvar="COTERIE_WORKERS", help="Clusterings at the same time."),
    ] = None,
    waiting: Annotated[
        int | None,
        typer.Option(metavar="N", envvar="COTERIE_WAITING", help="Further requests that may wait."),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Draw points in a browser and watch them being clustered; also a REST API."""
    limits = {
        "max_points": max_points,
        "max_columns": max_columns,
        "max_bytes": max_bytes,
        "seconds": seconds,
        "workers": workers,
        "waiting": waiting,
    }
    with refusing():
        import uvicorn

        from coterie.playground.pool import prepare
        from coterie.playground.settings import Settings

        given = {name: value for name, value in limits.items() if value is not None}
        settings = Settings(**given)  # type: ignore[arg-type]
    listener = _listen(host, port)
    with refusing():
        prepare()

        from coterie.playground.app import make_app

        app = make_app(settings)
    address = f"http://{_shown(host)}:{listener.getsockname()[1]}"
    typer.echo(f"coterie playground: {address}  (Ctrl+C stops it)")
    if host not in LOOPBACK:
        typer.echo("coterie: everybody who reaches this machine can use it", err=True)
    if show:
        typer.launch(address)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2)
    with suppress(KeyboardInterrupt):  # which uvicorn passes on once it has stopped
        uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """A socket that already listens, so that a port that is taken is told before all else."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Told that this is TCP, asyncio sends small answers at once instead of 40 ms later.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        refuse(f"cannot listen on {host}, port {port}: {error.strerror}; choose another --port")
    return listener


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return "localhost"
    return f"[{host}]" if ":" in host else host
