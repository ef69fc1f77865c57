"""The work of a worker process: from the body of a request to that of a response."""

import time
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from coterie.estimators.registry import DEFAULT
from coterie.metrics import ari
from coterie.playground.methods import INITIAL, Method, MethodResult, methods
from coterie.playground.plane import place_points
from coterie.playground.points import Points, points_of_csv, points_of_json
from coterie.playground.refusals import Refusal
from coterie.playground.schema import ClusterAnswer, LeftOutColumn, StepAnswer, TableAnswer
from coterie.playground.settings import Settings
from coterie.playground.tables import Reading
from coterie.playground.wishes import Wishes

DIGITS = 5


class Job(NamedTuple):
    """Points (n, d) to cluster, the truth (n,) if known, the method, wishes and options.

    notes: earlier changes of the points, included in the response.
    """

    points: NDArray[np.float64]
    truth: NDArray[np.intp] | None
    method: str
    with_steps: bool = False
    with_probabilities: bool = False
    notes: tuple[str, ...] = ()
    wishes: Wishes = Wishes()


class TableTask(NamedTuple):
    """The body of a request to read a table."""

    body: bytes
    limits: Settings
    reading: Reading


class ClusterTask(NamedTuple):
    """The body of a request to cluster points, in JSON unless it is a table."""

    body: bytes
    limits: Settings
    reading: Reading
    is_table: bool
    method: str
    with_steps: bool = False
    with_probabilities: bool = False
    wishes: Wishes = Wishes()


class Failure(NamedTuple):
    """A failed task: the reason in one sentence, and the status of the response."""

    sentence: str
    status: int = 422


def warm_up() -> None:
    """Prepare a worker process: use one thread, load the initial networks, read a table."""
    torch.set_num_threads(1)  # the workers share the cores
    threadpool_limits(1)
    points = np.random.default_rng(0).normal(size=(50, 2))
    for name in (INITIAL, DEFAULT):
        do(Job(points, None, name))
    do(TableTask(b"x,y\n1,2\n3,4\n", Settings(), Reading()))


def do(task: Job | TableTask | ClusterTask) -> bytes | Failure:
    """The JSON of a `ClusterAnswer` or `TableAnswer`."""
    try:
        if isinstance(task, TableTask):
            return _read(task)
        return _cluster(task if isinstance(task, Job) else _job(task))
    except Refusal as refusal:
        return Failure(refusal.sentence, refusal.status)


def _job(task: ClusterTask) -> Job:
    if task.is_table:
        table = points_of_csv(task.body, task.limits, task.reading)
        given = Points(table.points, table.truth, table.notes)
    else:
        given = points_of_json(task.body, task.limits)
    options = task.method, task.with_steps, task.with_probabilities
    return Job(given.points, given.truth, *options, given.notes, task.wishes)


def _read(task: TableTask) -> bytes:
    read = points_of_csv(task.body, task.limits, task.reading)
    drawn = place_points(read.points, read.columns)
    answer = TableAnswer.model_construct(
        names=list(read.names),
        columns=list(read.columns),
        left_out=[LeftOutColumn(**column._asdict()) for column in read.left_out],
        points=read.points.tolist(),
        plane=drawn.places.tolist(),
        axes=list(drawn.axes),
        is_own=drawn.is_own,
        truth=None if read.truth is None else read.truth.tolist(),
        notes=list(read.notes),
    )
    return answer.model_dump_json().encode()


def _cluster(job: Job) -> bytes:
    method = methods()[job.method]
    start = time.perf_counter()
    try:
        found = method.find(job.points, job.wishes)
    except Exception as error:  # peers may raise anything; the server must survive
        sentence = f"{method.title} cannot cluster these points: {error or type(error)}"
        raise Refusal(422, sentence) from None
    return _answer(job, method, found, time.perf_counter() - start).model_dump_json().encode()


def _answer(job: Job, method: Method, found: MethodResult, seconds: float) -> ClusterAnswer:
    probabilities = found.probabilities
    return ClusterAnswer.model_construct(
        method=method.name,
        n_clusters=int(found.labels.max()) + 1,
        labels=found.labels.tolist(),
        confidence=None if probabilities is None else _rounded(probabilities.max(1)),
        probabilities=(
            _rounded(probabilities)
            if probabilities is not None and job.with_probabilities
            else None
        ),
        steps=_steps(found) if job.with_steps else None,
        log_likelihood=found.log_likelihood,
        ari=_score(job.truth, found.labels),
        seconds=round(seconds, DIGITS),
        warnings=[*job.notes, *found.warnings],
        code=method.code_for(job.wishes),
    )


def _steps(found: MethodResult) -> list[StepAnswer] | None:
    if found.steps is None:
        return None
    return [
        StepAnswer.model_construct(
            claimed=step.claimed.tolist(),
            offered=step.offered.tolist(),
            probabilities=_rounded(step.probabilities),
        )
        for step in found.steps
    ]


def _score(truth: NDArray[np.intp] | None, labels: NDArray[np.intp]) -> float | None:
    """The ARI on the points whose true cluster is known."""
    if truth is None or not (truth >= 0).any():
        return None
    known = truth >= 0
    return round(ari(truth[known], labels[known]), DIGITS)


def _rounded(values: NDArray) -> list:
    return np.round(values.astype(np.float64), DIGITS).tolist()
