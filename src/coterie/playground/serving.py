"""HTTP for the playground: uvicorn, with a time limit for what precedes a request."""

import asyncio
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0


class Impatient(H11Protocol):
    """Closes connections whose next request does not begin in time.

    uvicorn limits the pause between two requests, but neither the time before the first one nor
    that of headers, or of a body nobody reads, that arrive byte by byte.
    """

    header_seconds = HEADER_SECONDS
    _deadline: asyncio.TimerHandle | None = None
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        if self._refused:  # nobody reads what follows
            return
        super().data_received(data)
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, and wait for the client to close, until the deadline.

        A connection that is closed while the client still sends is reset, and the answer is lost.
        """
        self._refused = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # an earlier request, whose answer nobody waits for
            self.cycle.message_event.set()
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # its answer has begun
            self.transport.close()
            return
        parts: list[Any] = [
            h11.Response(
                status_code=HTTPStatus.BAD_REQUEST,
                reason=HTTPStatus.BAD_REQUEST.phrase.encode(),
                headers=[("Content-Type", "text/plain; charset=utf-8"), ("Connection", "close")],
            ),
            h11.Data(data=msg.encode()),
            h11.EndOfMessage(),
        ]
        for part in parts:
            self.transport.write(self.conn.send(part))
        self.transport.write_eof()
        self.flow.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the clock, or stop it while a request is answered."""
        if self._is_answering():
            self._unwatch()
        elif self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(self.header_seconds, self._give_up)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self._is_answering():
            self.transport.close()

    def _is_answering(self) -> bool:
        return not self._refused and self.cycle is not None and not self.cycle.response_complete


def make_config(
    app: Any, *, header_seconds: float = HEADER_SECONDS, shutdown_seconds: int = 2
) -> uvicorn.Config:
    """The configuration of the server of an app."""
    protocol = type("Protocol", (Impatient,), {"header_seconds": header_seconds})
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        log_level="warning",
        timeout_graceful_shutdown=shutdown_seconds,
    )
