"""The application: the API, the page and the workers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coterie import __version__
from coterie.playground.api import make_router
from coterie.playground.hosts import KnownNames, Names, names_of
from coterie.playground.pool import Pool
from coterie.playground.refusals import (
    Refusal,
    say_http_error,
    say_refusal,
    say_wrong_parameters,
)
from coterie.playground.settings import Settings
from coterie.playground.work import do, warm_up

STATIC = Path(__file__).parent / "static"
HEADERS = {
    # The page loads nothing from other origins and may not be framed.
    "Content-Security-Policy": "default-src 'self'; img-src 'self' blob: data:;"
    " frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class SafeHeaders:
    """Adds the headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self.app(scope, receive, send_with_headers)


def make_app(settings: Settings | None = None, names: Names | None = None) -> FastAPI:
    """The playground with these limits, for requests to these names, by default of localhost."""
    settings = settings or Settings()

    @asynccontextmanager
    async def with_workers(app: FastAPI) -> AsyncIterator[None]:
        app.state.pool = Pool(
            warm_up,
            do,
            workers=settings.workers,
            waiting=settings.waiting,
            seconds=settings.seconds,
        )
        yield
        app.state.pool.close()

    app = FastAPI(
        title="coterie playground",
        version=__version__,
        summary="Clustering as a forward pass; the number of clusters is inferred.",
        docs_url=None,  # the default pages load scripts from other origins
        redoc_url=None,
        lifespan=with_workers,
    )
    app.add_middleware(KnownNames, names=names or names_of())
    app.add_middleware(SafeHeaders)
    app.add_exception_handler(Refusal, say_refusal)
    app.add_exception_handler(RequestValidationError, say_wrong_parameters)
    app.add_exception_handler(HTTPException, say_http_error)
    app.include_router(make_router(settings))
    app.mount("/static", StaticFiles(directory=STATIC), name="static")

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    return app
