"""Which names this server answers to.

A page elsewhere can point a name of its own at this machine (DNS rebinding), or post to it; the
browser then tells of the foreign name in `Host`, or of the foreign page in `Origin`.
"""

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = ("localhost", "127.0.0.1", "::1")
ANYWHERE = ("", "0.0.0.0", "::")


@dataclass(frozen=True)
class Names:
    """The names of a server: known ones and, where any will do, addresses in numbers.

    Nobody can point an address in numbers elsewhere, so it is as good as a known name.
    """

    known: frozenset[str]
    numbers: bool = False

    def has(self, host: str | None) -> bool:
        """Whether a host, without its port, is this server."""
        if host is None:
            return False
        return host in self.known or (self.numbers and _is_number(host))


def names_of(bound: str = "127.0.0.1", allowed: Iterable[str] = ()) -> Names:
    """The names of a server that listens on an address: those of the machine, and allowed ones."""
    known = {*LOOPBACK, *(_folded(name) for name in allowed)}
    if bound in ANYWHERE:
        own = _folded(socket.gethostname())
        return Names(frozenset({*known, own, f"{own}.local"}), numbers=True)
    return Names(frozenset({*known, _folded(bound)}))


class KnownNames:
    """Refuses requests that were meant for another host, or come from the page of another."""

    def __init__(self, app: ASGIApp, names: Names) -> None:
        self.app, self.names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self.names.has(_host_of(f"//{host}")):
            sentence = "this server does not answer to this name; allow it with --allow-host"
            await JSONResponse({"detail": sentence}, 421)(scope, receive, send)
        elif origin is not None and not self._is_ours(origin, host):
            sentence = "this server takes no requests from the pages of other hosts"
            await JSONResponse({"detail": sentence}, 403)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _is_ours(self, origin: str, host: str) -> bool:
        """Whether a page came from the same name and port, or from behind a proxy of ours."""
        if origin.partition("://")[2].lower() == host.lower():
            return True
        name = _host_of(origin)
        return name not in LOOPBACK and not _is_number(name or "") and self.names.has(name)


def _host_of(address: str) -> str | None:
    """The host of an address in lower case, None if there is none."""
    try:
        name = urlsplit(address).hostname
    except ValueError:
        return None
    return None if name is None else _folded(name)


def _folded(name: str) -> str:
    return name.strip("[]").rstrip(".").lower()


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
