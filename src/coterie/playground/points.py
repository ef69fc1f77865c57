"""Points to cluster, from the body of a request. This runs in a worker, within its time limit."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from coterie.data.tables.table import SourceError
from coterie.estimators.bad_values import refuse_bad_values
from coterie.playground.refusals import Refusal, first_fault
from coterie.playground.schema import PointsBody
from coterie.playground.settings import Settings
from coterie.playground.tables import Reading, TablePoints, read_points, width_of

# A table may have more columns than are clustered: text, and columns that were not chosen.
UNUSED_COLUMNS = 16  # for each that may be clustered


class Points(NamedTuple):
    """Points (n, d), their true clusters (n,) if known, and notes on changes."""

    points: NDArray[np.float64]
    truth: NDArray[np.intp] | None
    notes: tuple[str, ...] = ()


def points_of_json(body: bytes, settings: Settings) -> Points:
    """The points of a JSON body."""
    try:
        parsed = PointsBody.model_validate_json(body)
    except ValidationError as error:
        raise Refusal(422, first_fault(error.errors(include_url=False))) from None
    rows = parsed.points
    _refuse_many(len(rows), "points", settings.max_points)
    width = len(rows[0])
    for number, row in enumerate(rows):
        if len(row) != width:
            raise Refusal(
                422, f"points.{number} has {len(row)} numbers, earlier points have {width}"
            )
    if parsed.truth is not None and len(parsed.truth) != len(rows):
        raise Refusal(422, f"truth has {len(parsed.truth)} entries for {len(rows)} points")
    truth = None if parsed.truth is None else np.array(parsed.truth, dtype=np.intp)
    _refuse_many(width, "columns", settings.max_columns)
    return Points(_checked(np.array(rows, dtype=np.float64)), truth)


def points_of_csv(body: bytes, settings: Settings, reading: Reading) -> TablePoints:
    """The points of a CSV body."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refusal(422, f"the table is not UTF-8 text: invalid byte {error.start}") from None
    if "\0" in text:
        raise Refusal(422, "the table is not text: it contains a zero byte")
    widest = settings.max_columns * (1 + UNUSED_COLUMNS)
    _refuse_many(width_of(text), "columns", widest)  # before anything is done with them
    try:
        table = read_points(
            text,
            truth=reading.truth,
            scale=reading.scale,
            columns=reading.columns,
            max_rows=settings.max_points,
        )
    except SourceError as error:
        raise Refusal(422, str(error)) from None
    _refuse_many(table.n_rows, "rows", settings.max_points)
    _refuse_many(len(table.columns), "columns to cluster by", settings.max_columns)
    _checked(table.points)
    return table


def _refuse_many(number: int, things: str, most: int) -> None:
    if number > most:
        raise Refusal(413, f"{number:,} {things}; this server allows {most:,}")


def _checked(points: NDArray[np.float64]) -> NDArray[np.float64]:
    try:
        refuse_bad_values(points)
    except ValueError as error:
        raise Refusal(422, str(error)) from None
    return points
