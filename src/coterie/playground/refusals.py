"""Errors of the server: a 4xx status and one sentence."""

from collections.abc import Sequence
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

LONGEST = 300


class Refused(BaseModel):
    """The reason for a 4xx response."""

    detail: str = Field(description="One readable sentence.")


class Refusal(Exception):
    """A rejected request: status 4xx and the reason in one sentence."""

    def __init__(self, status: int, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = one_line(sentence)
        self.headers = headers


def one_line(text: str) -> str:
    """The text without line breaks, cut at LONGEST characters."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


def first_fault(errors: Sequence[Any]) -> str:
    """The first error of pydantic: its place in the request, and the reason."""
    fault = errors[0]
    place = ".".join(str(part) for part in fault["loc"] if part not in ("query", "path", "body"))
    message = str(fault["msg"])
    if fault["type"] == "json_invalid":
        return f"the body is not JSON: {message.removeprefix('Invalid JSON: ')}"
    more = f"; {len(errors) - 1} more errors" if len(errors) > 1 else ""
    return f"{place or 'the body'}: {message[0].lower()}{message[1:]}{more}"


async def say_refusal(_: Request, error: Exception) -> JSONResponse:
    """Respond to a `Refusal`."""
    assert isinstance(error, Refusal)
    return JSONResponse({"detail": error.sentence}, error.status, headers=error.headers)


async def say_wrong_parameters(_: Request, error: Exception) -> JSONResponse:
    """Respond to parameters that FastAPI rejected."""
    assert isinstance(error, RequestValidationError)
    return JSONResponse({"detail": one_line(first_fault(error.errors()))}, 422)


async def say_http_error(_: Request, error: Exception) -> JSONResponse:
    """Respond to errors of the router: an unknown path, a wrong verb."""
    assert isinstance(error, HTTPException)
    sentences = {
        404: "there is nothing at this address",
        405: "this address does not support this method",
    }
    detail = sentences.get(error.status_code, str(error.detail))
    return JSONResponse({"detail": detail}, error.status_code, headers=error.headers)
