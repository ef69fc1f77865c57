"""The REST API."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from coterie import __version__
from coterie.estimators.registry import DEFAULT
from coterie.playground.bodies import CSV, JSON, kind_of, read_body
from coterie.playground.methods import methods
from coterie.playground.pool import Busy, Died, Pool, TooSlow
from coterie.playground.presets import PRESETS, Preset, draw
from coterie.playground.refusals import Refusal, Refused
from coterie.playground.schema import (
    ClusterAnswer,
    DrawAnswer,
    LimitsAnswer,
    MethodAnswer,
    PointsBody,
    PresetAnswer,
    Range,
    TableAnswer,
)
from coterie.playground.settings import Settings
from coterie.playground.tables import Reading, Scale
from coterie.playground.wishes import PATTERN, Wishes, parse_wishes
from coterie.playground.work import ClusterTask, Failure, TableTask

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
ColumnsOfTable = Annotated[
    list[Annotated[str, Query(max_length=200)]],
    Query(
        max_length=2_000, description="CSV: the columns to cluster by, all numeric ones if none."
    ),
]
RETRY = {"Retry-After": "1"}
# Answered before there is a request, so in plain text.
UNREADABLE = {
    "description": "Not a request that the server can read, such as an address of over 64 kB.",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    reasons = {
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
            400: UNREADABLE,
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
        columns: ColumnsOfTable = [],  # noqa: B006, FastAPI copies it
        k: Annotated[
            str,
            Query(pattern=PATTERN, description="Number of clusters: 4, 2-6, or empty to infer it."),
        ] = "",
        noise: Annotated[bool, Query(description="Label outliers as noise, -1.")] = False,
    ) -> Response:
        """Cluster points; the number of clusters is inferred unless it is given."""
        if method not in known:
            raise Refusal(422, f"no method {method!r}; available: {', '.join(known)}")
        kind = kind_of(request)
        if kind not in (JSON, CSV):
            raise Refusal(415, f"send {JSON} or {CSV}, not {kind or 'a body without a type'}")
        wishes = _wishes(k, noise)
        body = await read_body(request, settings)
        task = ClusterTask(
            body,
            settings,
            Reading(truth, scale, tuple(columns)),
            kind == CSV,
            method,
            steps,
            probabilities,
            wishes,
        )
        return await _done(request, task, method, settings)

    @router.post(
        "/table",
        summary="Read a table",
        responses={
            200: {"model": TableAnswer, "description": "The table."},
            400: UNREADABLE,
            **_refusals(408, 413, 415, 422, 429),
        },
        openapi_extra=_body(CSV),
    )
    async def table(
        request: Request,
        truth: TruthColumn = "",
        scale: ScaleOfTable = "none",
        columns: ColumnsOfTable = [],  # noqa: B006
    ) -> Response:
        """Read a CSV file as the points that `/api/cluster` would cluster."""
        if kind_of(request) != CSV:
            raise Refusal(415, f"send {CSV}")
        body = await read_body(request, settings)
        task = TableTask(body, settings, Reading(truth, scale, tuple(columns)))
        return await _done(request, task, "reading the table", settings)

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
                code=each.code_for(Wishes()),
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


def _wishes(k: str, noise: bool) -> Wishes:
    try:
        return parse_wishes(k, noise)
    except ValueError as error:
        raise Refusal(422, str(error)) from None


async def _done(
    request: Request, task: ClusterTask | TableTask, what: str, settings: Settings
) -> Response:
    """The answer of a worker, or a refusal that says what was being done."""
    pool: Pool = request.app.state.pool
    try:
        answer = await pool.run(task, request.is_disconnected)
    except Busy:
        raise Refusal(429, "the server is busy; try again in a moment", **RETRY) from None
    except TooSlow:
        raise Refusal(
            422, f"{what} took longer than {settings.seconds:g} s{_advice(task)}"
        ) from None
    except Died:
        raise Refusal(422, f"{what} crashed, perhaps for lack of memory{_advice(task)}") from None
    if isinstance(answer, Failure):
        raise Refusal(answer.status, answer.sentence)
    return Response(answer or b"", media_type=JSON)  # empty only if the client has disconnected


def _advice(task: ClusterTask | TableTask) -> str:
    if isinstance(task, TableTask):
        return "; send fewer rows"
    return "; send fewer points or choose another method"


def _preset_answer(name: str, preset: Preset) -> PresetAnswer:
    return PresetAnswer(
        name=name,
        title=preset.title,
        k=None if preset.k is None else Range(**preset.k._asdict()),
        overlap=Range(**preset.overlap._asdict()),
    )
