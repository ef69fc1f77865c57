"""One set per call, as users call the estimators: the time of a fit, and of the loop within it.

The race is that of the other benchmarks; the methods record their own times, so that the loop is
timed without its preparation. Ratios are between medians of the same run.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from bench.models import consolidated_labels, estimator, loop_labels, open_network, run_loop
from bench.race import Progress, hold_race
from bench.sets import Setting
from bench.timing import Spread, Timed, spread, timed
from coterie.comparison.methods import Answer, Method, amortized
from coterie.comparison.peers import peers
from coterie.data.batch import SetBatch

REFERENCE = "dac-mog2d"
MIXTURE = "GaussianMixture + BIC"
PEERS = (MIXTURE, "BayesianGaussianMixture", "HDBSCAN")
FIT, RAW_FIT = "fit", "fit, as the network says"
LOOP, CLEAN_LOOP = "loop", "loop and clean-up"

Points = NDArray[np.float32]


class Contestant(NamedTuple):
    """A way to cluster one set (n, D); call names the part of the work that is timed."""

    name: str
    call: str
    details: str
    answer: Callable[[Points], Timed[Answer]]


class Entry(NamedTuple):
    """A contestant's seconds per set, and the quality of its answers.

    times_mixture and times_reference: the ratio of its median to that of the mixture with BIC, and
    to that of the reference with the same call; None if these did not run.
    """

    name: str
    call: str
    details: str
    seconds: Spread
    ari: float
    k_mae: float
    times_mixture: float | None = None
    times_reference: float | None = None


class Alone(NamedTuple):
    """All contestants on the same sets, one set per call."""

    setting: str
    n_sets: int
    entries: tuple[Entry, ...]


def time_alone(
    setting: Setting,
    weights: Sequence[str],
    *,
    device: str,
    n_sets: int,
    seed: int,
    progress: Progress | None = None,
) -> Alone:
    """Time the weights and the reference on sets of a setting; on the CPU also the peers."""
    field = [
        each for name in dict.fromkeys([*weights, REFERENCE]) for each in contestants(name, device)
    ]
    if device == "cpu":
        field += [_peer(each) for each in peers(setting.k_limit) if each.name in PEERS]
    seconds: dict[str, list[float]] = {}
    methods = [_noting(each, seconds) for each in field]
    race = hold_race(
        setting, methods, [], n_sets=n_sets, n_peer_sets=0, seed=seed, progress=progress
    )
    entries = [
        Entry(
            each.name,
            each.call,
            each.details,
            spread(seconds[summary.name][1:]),  # the first is the race's warm-up
            summary.metrics["ari"].mean,
            summary.metrics["k_mae"].mean,
        )
        for each, summary in zip(field, race.ours.methods, strict=True)
    ]
    return Alone(setting.title, n_sets, compare(entries))


def contestants(weights: str, device: str) -> tuple[Contestant, ...]:
    """The estimator with and without consolidation, the loop with and without it."""
    return (
        _fitting(weights, device, FIT, clean_up=True),
        _fitting(weights, device, RAW_FIT, clean_up=False),
        _looping(weights, device, LOOP, clean_up=False),
        _looping(weights, device, CLEAN_LOOP, clean_up=True),
    )


def compare(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The same entries with their ratios; a loop is not a fit, so it has no ratio to a peer."""
    medians = {(entry.name, entry.call): entry.seconds.median for entry in entries}

    def ratio(entry: Entry, name: str, call: str) -> float | None:
        other = medians.get((name, call))
        return None if other is None else entry.seconds.median / other

    return tuple(
        entry._replace(
            times_mixture=ratio(entry, MIXTURE, FIT) if entry.call in (FIT, RAW_FIT) else None,
            times_reference=ratio(entry, REFERENCE, entry.call),
        )
        for entry in entries
    )


def _fitting(weights: str, device: str, call: str, *, clean_up: bool) -> Contestant:
    method = amortized(
        weights, estimator(weights, "consolidated" if clean_up else "network", device=device)
    )

    def answer(points: Points) -> Timed[Answer]:
        return timed(lambda: method.cluster(points), device)

    return Contestant(weights, call, method.details, answer)


def _looping(weights: str, device: str, call: str, *, clean_up: bool) -> Contestant:
    """The loop alone, on points already on the device; points left over form a cluster."""
    system = open_network(weights, device).system

    def answer(points: Points) -> Timed[Answer]:
        table = torch.from_numpy(points).to(device)
        batch = SetBatch.single(table)
        if not clean_up:
            state, seconds = timed(lambda: run_loop(system, batch), device)
            return Timed(Answer(loop_labels(state)[0]), seconds)
        labels, seconds = timed(
            lambda: consolidated_labels(system, points, run_loop(system, batch)), device
        )
        return Timed(Answer(labels), seconds)

    return Contestant(weights, call, f"the loop on {device}, weights {weights}", answer)


def _peer(method: Method) -> Contestant:
    return Contestant(
        method.name, FIT, method.details, lambda points: timed(lambda: method.cluster(points))
    )


def _noting(contestant: Contestant, seconds: dict[str, list[float]]) -> Method:
    """A method for the race that records its own times."""
    name = f"{contestant.name}: {contestant.call}"
    notes = seconds.setdefault(name, [])

    def cluster(points: Points) -> Answer:
        answer, taken = contestant.answer(points)
        notes.append(taken)
        return answer

    return Method(name, contestant.details, cluster)
