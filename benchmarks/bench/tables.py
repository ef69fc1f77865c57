"""Public labelled sets: our models against the methods that choose k themselves.

All methods cluster every set, in turn, with each number of threads. Runs are stored one by one.
Those of the peers are reused, because they do not depend on our weights.
"""

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import NDArray

from bench.command import command
from bench.ledger import Kept, Key, Ledger
from bench.machine import Stopwatch, describe_machine
from bench.methods import ours, told_k
from bench.models import digest_of_weights, scales_columns
from bench.race import Progress, run_method, turns
from bench.sets import LabelledSet
from bench.suite import SuiteSet
from bench.tables_report import Row, TablesReport
from bench.threads import limited_threads
from coterie.comparison.methods import Answer, Method
from coterie.comparison.peers import ALL_COVARIANCES, peers, standardised

SHIPPED = ("amcp-universal",)
SKLEARN = f"sklearn {sklearn.__version__}"
WARM_UP_POINTS = 200


@dataclass(frozen=True)
class TablesPlan:
    """What is measured: the peers try up to k_limit clusters, the sets have at most k_max."""

    weights: tuple[str, ...] = SHIPPED
    k_limit: int = 20
    threads: tuple[int, ...] = (1, 2)
    k_max: int = 30

    @property
    def command(self) -> str:
        """The command line that repeats the measurement."""
        return command("tables", weights=self.weights, k_limit=self.k_limit, threads=self.threads)


@dataclass(frozen=True)
class Entrant:
    """A method for each set, and the version on which its answers depend besides its details."""

    name: str
    details: str
    version: str
    method_for: Callable[[LabelledSet], Method]
    is_ours: bool = False
    told_k: bool = False


class Answered(NamedTuple):
    """A row for each entrant, the start time of the benchmark, and the machine."""

    rows: tuple[Row, ...]
    date: str
    machine: dict[str, Any]


def our_entrants(weights: Sequence[str]) -> tuple[Entrant, ...]:
    """Our models with their defaults; columns are standardised if a model does not scale them."""
    return tuple(
        replace(_constant(_prepared(method, name), digest_of_weights(name)), is_ours=True)
        for name in weights
        for method in ours([name])
    )


def peer_entrants(k_limit: int) -> tuple[Entrant, ...]:
    """The methods that choose k themselves, and the one that is given the true k."""
    choosing = peers(k_limit, ALL_COVARIANCES)
    example = standardised(told_k(2))

    def told(given: LabelledSet) -> Method:
        return standardised(told_k(int(given.labels.max()) + 1))

    return (
        *(_constant(standardised(method), SKLEARN) for method in choosing),
        Entrant(example.name, example.details, SKLEARN, told, told_k=True),
    )


def run_tables(
    suite: Sequence[SuiteSet],
    plan: TablesPlan,
    ledger: Path,
    *,
    resume: bool = False,
    fresh: bool = False,
    progress: Progress | None = None,
) -> TablesReport:
    """Run all methods on all sets of the suite, except for runs already in the ledger."""
    answered = answer_all(
        suite,
        our_entrants(plan.weights),
        peer_entrants(plan.k_limit),
        plan.threads,
        ledger,
        resume=resume,
        fresh=fresh,
        progress=progress,
    )
    return TablesReport(
        plan.command, answered.date, answered.machine, plan.k_max, tuple(suite), answered.rows
    )


def answer_all(
    suite: Sequence[SuiteSet],
    mine: Sequence[Entrant],
    others: Sequence[Entrant],
    threads: Sequence[int],
    ledger: Path,
    *,
    resume: bool = False,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Answered:
    """Run every entrant on every set with each number of threads.

    Runs in the ledger are reused: those of the peers unless fresh, ours only when resuming.
    progress(label, done, total) is called after each set.
    """
    stopwatch, date = Stopwatch(), datetime.now(UTC).isoformat(timespec="seconds")
    their_names = {entrant.name for entrant in others}
    kept = Ledger(ledger, keep=lambda key: not fresh and (resume or key.method in their_names))
    field = [(entrant, number) for entrant in (*mine, *others) for number in threads]
    warm: set[tuple[str, int]] = set()
    for number, given in enumerate(suite):
        labelled = LabelledSet(given.points, given.labels, None)
        for entrant, n_threads in turns(field, number):
            key = _key(entrant, given, n_threads)
            if key in kept:
                continue
            method = entrant.method_for(labelled)
            with limited_threads(n_threads):
                if (entrant.name, n_threads) not in warm:
                    method.cluster(given.points[:WARM_UP_POINTS])
                    warm.add((entrant.name, n_threads))
                beside = Stopwatch()
                run = run_method(method, labelled)
                kept.add(key, Kept(run, date, beside.others_share()))
        if progress is not None:
            progress("sets", number + 1, len(suite))
    machine = {**describe_machine(), "others_cpu_share": stopwatch.others_share()}
    rows = tuple(_row(entrant, suite, threads, kept) for entrant in (*mine, *others))
    return Answered(rows, date, machine)


def _row(entrant: Entrant, suite: Sequence[SuiteSet], threads: Sequence[int], kept: Ledger) -> Row:
    runs = {
        number: tuple(kept[_key(entrant, given, number)] for given in suite) for number in threads
    }
    return Row(entrant.name, entrant.details, entrant.is_ours, entrant.told_k, runs)


def _key(entrant: Entrant, given: SuiteSet, threads: int) -> Key:
    digest = hashlib.sha256()
    for part in (entrant.details, entrant.version):
        digest.update(part.encode())
    digest.update(given.points.tobytes())
    digest.update(given.labels.tobytes())
    return Key(entrant.name, given.name, threads, digest.hexdigest()[:16])


def _constant(method: Method, version: str) -> Entrant:
    return Entrant(method.name, method.details, version, lambda given: method)


def _prepared(method: Method, weights: str) -> Method:
    """Our method without its warnings, on columns scaled as its weights require."""

    def cluster(points: NDArray[np.float32]) -> Answer:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return method.cluster(points)

    quiet = Method(method.name, method.details, cluster)
    return quiet if scales_columns(weights) else standardised(quiet)
