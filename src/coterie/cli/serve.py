"""`coterie serve`: the playground in a browser."""

import socket
from contextlib import suppress
from typing import Annotated

import typer

from coterie.cli.refusal import refuse, refusing

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen on; 0.0.0.0 accepts connections from anywhere.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port; 0 chooses a free one.")
    ] = 8000,
    max_points: Annotated[
        int | None,
        typer.Option(metavar="N", envvar="COTERIE_MAX_POINTS", help="Points per request."),
    ] = None,
    max_columns: Annotated[
        int | None,
        typer.Option(metavar="N", envvar="COTERIE_MAX_COLUMNS", help="Columns per request."),
    ] = None,
    max_bytes: Annotated[
        int | None, typer.Option(metavar="N", envvar="COTERIE_MAX_BYTES", help="Bytes per request.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(metavar="S", envvar="COTERIE_SECONDS", help="Time limit of a clustering."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", envvar="COTERIE_WORKERS", help="Concurrent clusterings."),
    ] = None,
    waiting: Annotated[
        int | None,
        typer.Option(metavar="N", envvar="COTERIE_WAITING", help="Length of the queue."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Additional host name by which browsers may reach this server; may be repeated.",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve the playground, a page to draw and cluster points, and its REST API."""
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
        from coterie.playground.hosts import names_of
        from coterie.playground.serving import make_config

        app = make_app(settings, names_of(host, allow_host or ()))
    address = f"http://{_shown(host)}:{listener.getsockname()[1]}"
    typer.echo(f"coterie playground: {address}  (Ctrl+C stops it)")
    if host not in LOOPBACK:
        typer.echo("coterie: anyone who can reach this machine can use the playground", err=True)
    if show:
        typer.launch(address)
    with suppress(KeyboardInterrupt):  # which uvicorn re-raises after its shutdown
        uvicorn.Server(make_config(app)).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket, so that a port in use is reported first."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With IPPROTO_TCP asyncio sets TCP_NODELAY, which saves 40 ms for small responses.
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
