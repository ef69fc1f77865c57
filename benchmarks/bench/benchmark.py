"""A benchmark: a race for each setting, and a report on them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from bench.command import command
from bench.machine import Stopwatch, describe_machine
from bench.methods import ToldK, ours
from bench.models import digest_of_weights
from bench.printed import Printed
from bench.race import Progress, Runner, hold_race
from bench.report import Report
from bench.resumed import StoredRuns
from bench.sets import Setting
from coterie.comparison.methods import Method
from coterie.comparison.peers import peers


def run_benchmark(
    name: str,
    settings: Sequence[Setting],
    methods: Sequence[Method],
    *,
    command: str,
    n_sets: int | Sequence[int],
    n_peer_sets: int,
    seed: int,
    progress: Progress | None = None,
    printed: tuple[Printed, ...] = (),
    run: Runner | None = None,
    told: Sequence[ToldK] = (),
    rivals: Sequence[Method] | None = None,
) -> Report:
    """Race our methods on n_sets sets of each setting, and the peers on the first n_peer_sets.

    n_sets: one number for all settings, or one for each; rivals: other methods than the peers
    that choose k; progress(label, done, total) is called after each set.
    """
    numbers = [n_sets] * len(settings) if isinstance(n_sets, int) else [*n_sets]
    if len(numbers) != len(settings):
        raise ValueError(f"{len(numbers)} numbers of sets for {len(settings)} settings")
    stopwatch, date = Stopwatch(), datetime.now(UTC).isoformat(timespec="seconds")
    races = tuple(
        hold_race(
            setting,
            methods,
            peers(setting.k_limit) if rivals is None else rivals,
            n_sets=number,
            n_peer_sets=n_peer_sets,
            seed=seed,
            progress=progress,
            run=run,
            told=told,
        )
        for setting, number in zip(settings, numbers, strict=True)
    )
    machine = {**describe_machine(), "others_cpu_share": stopwatch.others_share()}
    return Report(name, command, date, seed, machine, races, printed)


@dataclass(frozen=True)
class Benchmark:
    """Shipped models on the sets of some settings, and the figures printed in the papers."""

    name: str
    settings: tuple[Setting, ...]
    shipped: tuple[str, ...]
    printed: tuple[Printed, ...] = ()
    told: tuple[ToldK, ...] = ()

    def run(
        self,
        n_sets: int | Sequence[int] = 1000,
        n_peer_sets: int = 100,
        seed: int = 0,
        progress: Progress | None = None,
        *,
        weights: Sequence[str | Path] | None = None,
        settings: Sequence[Setting] | None = None,
        device: str = "cpu",
        ledger: Path | None = None,
        resume: bool = False,
    ) -> Report:
        """Our systems on n_sets sets of each setting, and the peers on the first n_peer_sets.

        device: of our networks; ledger: a file in which runs are stored one by one; with resume,
        those in it count.
        """
        given = self.shipped if weights is None else weights
        elsewhere = {} if device == "cpu" else {"device": device}
        stored = None
        if ledger is not None:
            version = " ".join([*(digest_of_weights(each) for each in given), *elsewhere.values()])
            stored = StoredRuns(ledger, version, resume=resume)
        report = run_benchmark(
            self.name,
            self.settings if settings is None else settings,
            ours(given, device),
            command=command(
                self.name,
                sets=n_sets if isinstance(n_sets, int) else [*n_sets],
                peer_sets=n_peer_sets,
                seed=seed,
                weights=[*given],
                **elsewhere,
            ),
            n_sets=n_sets,
            n_peer_sets=n_peer_sets,
            seed=seed,
            progress=progress,
            printed=self.printed,
            told=self.told,
            run=stored,
        )
        return report if stored is None else replace(report, machine=stored.loaded(report.machine))
