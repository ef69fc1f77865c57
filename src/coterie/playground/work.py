"""One clustering in a worker process: from a job to the body of a response."""

import time
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from coterie.estimators.registry import DEFAULT
from coterie.metrics import ari
from coterie.playground.methods import INITIAL, Method, MethodResult, methods
from coterie.playground.schema import ClusterAnswer, StepAnswer

DIGITS = 5


class Job(NamedTuple):
    """Points (n, d) to cluster, the truth (n,) if known, the method and options.

    notes: earlier changes of the points, included in the response.
    """

    points: NDArray[np.float64]
    truth: NDArray[np.intp] | None
    method: str
    with_steps: bool = False
    with_probabilities: bool = False
    notes: tuple[str, ...] = ()


class Failure(NamedTuple):
    """A failed job, with the reason in one sentence."""

    sentence: str


def warm_up() -> None:
    """Prepare a worker process: use one thread, and load the initial networks."""
    torch.set_num_threads(1)  # the workers share the cores
    threadpool_limits(1)
    points = np.random.default_rng(0).normal(size=(50, 2))
    for name in (INITIAL, DEFAULT):
        do(Job(points, None, name))


def do(job: Job) -> bytes | Failure:
    """The JSON of a `ClusterAnswer`."""
    method = methods()[job.method]
    start = time.perf_counter()
    try:
        found = method.find(job.points)
    except Exception as error:  # peers may raise anything; the server must survive
        return Failure(f"{method.title} cannot cluster these points: {error or type(error)}")
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
