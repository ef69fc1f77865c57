"""Request bodies, read within limits."""

import asyncio

from fastapi import Request
from starlette.requests import ClientDisconnect

from coterie.playground.refusals import Refusal
from coterie.playground.settings import Settings

JSON, CSV = "application/json", "text/csv"


def kind_of(request: Request) -> str:
    """The media type of a request, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(request: Request, settings: Settings) -> bytes:
    """The body, within the limits of size and time."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(settings.seconds):
            async for part in request.stream():
                parts.append(part)
                size += len(part)
                if size > settings.max_bytes:
                    raise Refusal(413, f"the body is larger than {settings.max_bytes:,} bytes")
    except TimeoutError:
        raise Refusal(408, f"the body did not arrive within {settings.seconds:g} s") from None
    except ClientDisconnect:  # nobody reads this answer
        raise Refusal(400, "the client has disconnected") from None
    return b"".join(parts)
