"""The REST API."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from coterie import __version__
from coterie.estimators.registry import DEFAULT
from coterie.playground.bodies import (
    CSV,
    JSON,
    Points,
    kind_of,
    points_of_csv,
    points_of_json,
    read_body,
)
from coterie.playground.methods import methods
from coterie.playground.pool import Busy, Died, Pool, TooSlow
from coterie.playground.presets import PRESETS, Preset, draw
from coterie.playground.refusals import Refusal, Refused
from coterie.playground.schema import (
    ClusterAnswer,
    DrawAnswer,
    LeftOutColumn,
    LimitsAnswer,
    MethodAnswer,
    PointsBody,
    PresetAnswer,
    Range,
    TableAnswer,
)
from coterie.playground.settings import Settings
from coterie.playground.tables import Scale, plane
from coterie.playground.work import Failure, Job

CSV_SCHEMA = {
    "schema": {"type": "string", "description": "CSV with a header."},
    "example": "x,y\n0.1,0.2\n0.0,0.1\n4.1,4.0\n4.0,4.2\n",
}
TruthColumn = Annotated[
    str, Query(max_length=200, description="CSV: the column with the true clusters, if any.")
]
ScaleOfTable = Annotated[
    Scale,
    Query(description="CSV: scale the whole table, or each column, to the canvas, or not."),
]
RETRY = {"Retry-After": "1"}


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    reasons = {
        400: "Malformed request.",
        404: "Not found.",
        408: "The body did not arrive in time.",
        413: "Larger than this server allows.",
        415: "Neither JSON nor CSV.",
        422: "Invalid input, or a clustering that takes too long.",
        429: "Too many concurrent requests.",
    }
    return {status: {"model": Refused, "description": reasons[status]} for status in statuses}


def _body(*kinds: str) -> dict[str, Any]:
    """The OpenAPI description of a body that FastAPI does not parse."""
    described = {JSON: {"schema": PointsBody.model_json_schema()}, CSV: CSV_SCHEMA}
    return {"requestBody": {"required": True, "content": {kind: described[kind] for kind in kinds}}}


def make_router(settings: Settings) -> APIRouter:
    """The routes below /api; the worker pool is in the state of the app."""
    router = APIRouter(prefix="/api")
    known = methods()

    @router.post(
        "/cluster",
        summary="Cluster points",
        responses={
            200: {"model": ClusterAnswer, "description": "The clusters."},
            **_refusals(408, 413, 415, 422, 429),
        },
        openapi_extra=_body(JSON, CSV),
    )
    async def cluster(
        request: Request,
        method: Annotated[
            str, Query(max_length=100, description="A name from /api/methods.")
        ] = DEFAULT,
        steps: Annotated[bool, Query(description="Return the steps.")] = False,
        probabilities: Annotated[bool, Query(description="Return all memberships.")] = False,
        truth: TruthColumn = "",
        scale: ScaleOfTable = "none",
    ) -> Response:
        """Cluster points; the number of clusters is inferred."""
        if method not in known:
            raise Refusal(422, f"no method {method!r}; available: {', '.join(known)}")
        kind = kind_of(request)
        if kind not in (JSON, CSV):
            raise Refusal(415, f"send {JSON} or {CSV}, not {kind or 'a body without a type'}")
        body = await read_body(request, settings)
        if kind == JSON:
            given = await asyncio.to_thread(points_of_json, body, settings)
        else:
            table = await asyncio.to_thread(points_of_csv, body, settings, truth, scale)
            given = Points(table.points, table.truth, table.notes)
        job = Job(given.points, given.truth, method, steps, probabilities, given.notes)
        return Response(await _done(request, job, settings), media_type=JSON)

    @router.post(
        "/table",
        summary="Read a table",
        responses=_refusals(408, 413, 415, 422),
        openapi_extra=_body(CSV),
    )
    async def table(
        request: Request, truth: TruthColumn = "", scale: ScaleOfTable = "none"
    ) -> TableAnswer:
        """Read a CSV file as the points that `/api/cluster` would cluster."""
        if kind_of(request) != CSV:
            raise Refusal(415, f"send {CSV}")
        body = await read_body(request, settings)
        read = await asyncio.to_thread(points_of_csv, body, settings, truth, scale)
        return TableAnswer(
            names=list(read.names),
            columns=list(read.columns),
            left_out=[LeftOutColumn(**column._asdict()) for column in read.left_out],
            points=read.points.tolist(),
            plane=(await asyncio.to_thread(plane, read.points)).tolist(),
            truth=None if read.truth is None else read.truth.tolist(),
            notes=list(read.notes),
        )

    @router.get("/methods", summary="Available methods")
    async def list_methods() -> list[MethodAnswer]:
        """The shipped models and the peers."""
        return [
            MethodAnswer(
                name=each.name,
                title=each.title,
                kind=each.kind,
                details=each.details,
                default=each.is_default,
                initial=each.is_initial,
                code=each.code,
            )
            for each in known.values()
        ]

    @router.get("/presets", summary="Families of example sets")
    async def list_presets() -> list[PresetAnswer]:
        """The presets and the ranges of their sliders."""
        return [_preset_answer(name, preset) for name, preset in PRESETS.items()]

    @router.get("/presets/{name}", summary="An example set", responses=_refusals(404, 413, 422))
    async def draw_preset(
        name: Annotated[str, Path(max_length=100)],
        n: Annotated[int, Query(ge=2)] = 600,
        k: Annotated[int, Query(ge=1, le=12)] = 4,
        overlap: Annotated[float, Query(ge=0, le=1)] = 0.2,
        seed: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    ) -> DrawAnswer:
        """Draw a set with known clusters; the same arguments give the same points."""
        if name not in PRESETS:
            raise Refusal(404, f"no preset {name!r}; available: {', '.join(PRESETS)}")
        if n > settings.max_points:
            raise Refusal(413, f"{n:,} points; this server allows {settings.max_points:,}")
        points, labels = draw(name, n=n, k=k, overlap=overlap, seed=seed)
        return DrawAnswer(points=points.tolist(), truth=labels.tolist())

    @router.get("/limits", summary="Limits of this server")
    async def limits() -> LimitsAnswer:
        """The settings of the server."""
        return LimitsAnswer(version=__version__, **asdict(settings))

    return router


async def _done(request: Request, job: Job, settings: Settings) -> bytes:
    """The answer of a worker, or a refusal."""
    pool: Pool = request.app.state.pool
    try:
        answer = await pool.run(job, request.is_disconnected)
    except Busy:
        raise Refusal(429, "the server is busy; try again in a moment", **RETRY) from None
    except TooSlow:
        raise Refusal(
            422,
            f"{job.method} took longer than {settings.seconds:g} s on {len(job.points):,} points;"
            " send fewer points or choose another method",
        ) from None
    except Died:
        raise Refusal(
            422,
            f"{job.method} crashed on {len(job.points):,} points, perhaps for lack of"
            " memory; send fewer points or choose another method",
        ) from None
    if isinstance(answer, Failure):
        raise Refusal(422, answer.sentence)
    return answer or b""  # empty only if the client has disconnected


def _preset_answer(name: str, preset: Preset) -> PresetAnswer:
    return PresetAnswer(
        name=name,
        title=preset.title,
        k=None if preset.k is None else Range(**preset.k._asdict()),
        overlap=Range(**preset.overlap._asdict()),
    )
