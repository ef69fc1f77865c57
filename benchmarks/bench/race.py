"""The loop over sets: every method in turn, timed, then scored."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from bench.methods import ToldK
from bench.scores import Run, Summary, oracle_summary, score, summarise
from bench.sets import LabelledSet, Setting, draw_sets
from coterie.comparison.methods import Method

Progress = Callable[[str, int, int], None]
T = TypeVar("T")


class Standing(NamedTuple):
    """Methods compared on the same sets."""

    n_sets: int
    oracle: Summary | None
    methods: tuple[Summary, ...]


class Race(NamedTuple):
    """One setting: our systems on all of its sets, all methods on the first of them."""

    setting: Setting
    ours: Standing
    everybody: Standing | None


def hold_race(
    setting: Setting,
    ours: Sequence[Method],
    peers: Sequence[Method],
    *,
    n_sets: int,
    n_peer_sets: int,
    seed: int,
    progress: Progress | None = None,
    told: Sequence[ToldK] = (),
) -> Race:
    """Run our systems on n_sets sets of a setting, and the peers on the first n_peer_sets.

    told: peers that are given the true number of clusters of each set.
    """
    if n_sets < 1 or n_peer_sets < 0:
        raise ValueError(f"n_sets must be positive, got {n_sets} and {n_peer_sets} for the peers")
    n_peer_sets = min(n_sets, n_peer_sets)
    sets = draw_sets(setting, n_sets, seed)
    everybody: list[Method | ToldK] = [*ours, *peers, *told]
    runs: dict[str, list[Run]] = {method.name: [] for method in everybody}
    for number, given in enumerate(sets):
        field = everybody if number < n_peer_sets else [*ours]
        if number == 0:
            for method in field:  # the first call also loads weights and starts threads
                run_method(method, given)
        for method in turns(field, number):
            runs[method.name].append(run_method(method, given))
        if progress is not None:
            progress(setting.title, number + 1, n_sets)
    return Race(
        setting,
        _standing(ours, sets, runs),
        _standing(everybody, sets[:n_peer_sets], runs) if n_peer_sets else None,
    )


def turns(field: Sequence[T], number: int) -> Iterator[T]:
    """The order in which the methods run on the set with this number.

    The methods alternate set by set and take turns at going first, so that neither a busy period of
    the machine nor a warm cache favours one of them.
    """
    for turn in range(len(field)):
        yield field[(number + turn) % len(field)]


def run_method(method: Method | ToldK, given: LabelledSet) -> Run:
    """Run a method on a set, time it, and score its answer."""
    if isinstance(method, ToldK):
        method = method.of(given.n_clusters)
    start = time.perf_counter()
    answer = method.cluster(given.points)
    seconds = time.perf_counter() - start
    return Run(score(given, answer), seconds)


def _standing(
    methods: Sequence[Method | ToldK], sets: Sequence[LabelledSet], runs: dict[str, list[Run]]
) -> Standing:
    summaries = tuple(
        summarise(method.name, method.details, runs[method.name][: len(sets)]) for method in methods
    )
    return Standing(len(sets), oracle_summary(sets), summaries)
