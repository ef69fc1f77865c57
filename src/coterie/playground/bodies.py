"""Request bodies: read within limits and parsed as points."""

import asyncio
from typing import NamedTuple

import numpy as np
from fastapi import Request
from numpy.typing import NDArray
from pydantic import ValidationError

from coterie.data.tables.table import SourceError
from coterie.estimators.checks import refuse_bad_values
from coterie.playground.refusals import Refusal, first_fault
from coterie.playground.schema import PointsBody
from coterie.playground.settings import Settings
from coterie.playground.tables import Scale, TablePoints, read_points

JSON, CSV = "application/json", "text/csv"


class Points(NamedTuple):
    """Points (n, d), their true clusters (n,) if known, and notes on changes."""

    points: NDArray[np.float64]
    truth: NDArray[np.intp] | None
    notes: tuple[str, ...] = ()


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
    return b"".join(parts)


def points_of_json(body: bytes, settings: Settings) -> Points:
    """The points of a JSON body."""
    try:
        parsed = PointsBody.model_validate_json(body)
    except ValidationError as error:
        raise Refusal(422, first_fault(error.errors(include_url=False))) from None
    rows = parsed.points
    width = len(rows[0])
    for number, row in enumerate(rows):
        if len(row) != width:
            raise Refusal(
                422, f"points.{number} has {len(row)} numbers, earlier points have {width}"
            )
    if parsed.truth is not None and len(parsed.truth) != len(rows):
        raise Refusal(422, f"truth has {len(parsed.truth)} entries for {len(rows)} points")
    truth = None if parsed.truth is None else np.array(parsed.truth, dtype=np.intp)
    return Points(_checked(np.array(rows, dtype=np.float64), settings), truth)


def points_of_csv(body: bytes, settings: Settings, truth: str, scale: Scale) -> TablePoints:
    """The points of a CSV body."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refusal(422, f"the table is not UTF-8 text: invalid byte {error.start}") from None
    if "\0" in text:
        raise Refusal(422, "the table is not text: it contains a zero byte")
    try:
        table = read_points(text, truth=truth, scale=scale)
    except SourceError as error:
        raise Refusal(422, str(error)) from None
    _checked(table.points, settings)
    return table


def _checked(points: NDArray[np.float64], settings: Settings) -> NDArray[np.float64]:
    n_points, n_columns = points.shape
    if n_points > settings.max_points:
        raise Refusal(413, f"{n_points:,} points; this server allows {settings.max_points:,}")
    if n_columns > settings.max_columns:
        raise Refusal(413, f"{n_columns:,} columns; this server allows {settings.max_columns:,}")
    try:
        refuse_bad_values(points)
    except ValueError as error:
        raise Refusal(422, str(error)) from None
    return points
