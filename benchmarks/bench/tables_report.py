"""The results of the race on public labelled sets, as data and as tables."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bench.ledger import Kept
from bench.report import Table, cell
from bench.scores import Run, Summary, summarise
from bench.suite import SuiteSet

MIDDLE_SIZES = (1_000, 10_000)
METRICS = ("ari", "nmi", "k_mae", "k_exact", "k_within_one")


class Row(NamedTuple):
    """A method's runs by the number of threads, each in the order of the sets."""

    name: str
    details: str
    is_ours: bool
    told_k: bool
    runs: dict[int, tuple[Kept, ...]]

    @property
    def scored(self) -> tuple[Kept, ...]:
        """The runs that are scored: those with the fewest threads."""
        return self.runs[min(self.runs)]

    @property
    def measured(self) -> list[str]:
        """The start times of the benchmarks that the runs come from."""
        return sorted({kept.date for runs in self.runs.values() for kept in runs})

    @property
    def others_cpu_share(self) -> float | None:
        """The load of other processes, averaged over the time of the runs; None if unknown."""
        total = busy = 0.0
        for kept in (kept for runs in self.runs.values() for kept in runs):
            if kept.others_cpu_share is None:
                return None
            total += kept.run.seconds
            busy += kept.run.seconds * kept.others_cpu_share
        return round(busy / total, 3)


@dataclass(frozen=True)
class TablesReport:
    """All methods on all sets, the machine and the time; reused runs keep their own date."""

    command: str
    date: str
    machine: dict[str, Any]
    k_max: int
    suite: tuple[SuiteSet, ...]
    rows: tuple[Row, ...]

    name = "tables"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of sets, in alphabetical order."""
        return tuple(sorted({given.kind for given in self.suite}))

    def summary(self, row: Row, kind: str | None = None) -> Summary:
        """A method over all sets, or over those of one kind."""
        runs = [
            _with_shares(kept.run)
            for given, kept in zip(self.suite, row.scored, strict=True)
            if kind in (None, given.kind)
        ]
        return summarise(row.name, row.details, runs)

    def median_seconds(self, row: Row, threads: int, sizes: tuple[float, float]) -> float | None:
        """The median time over the sets with a number of points within these bounds."""
        seconds = [
            kept.run.seconds
            for given, kept in zip(self.suite, row.runs[threads], strict=True)
            if sizes[0] <= len(given.points) <= sizes[1]
        ]
        return float(np.median(seconds)) if seconds else None

    def to_json(self) -> dict[str, Any]:
        """The whole report as JSON-compatible data."""
        return {
            "benchmark": self.name,
            "command": self.command,
            "date": self.date,
            "machine": dict(self.machine),
            "k_max": self.k_max,
            "sets": [_set_data(given) for given in self.suite],
            "methods": [self._row_data(row) for row in self.rows],
        }

    def tables(self) -> list[Table]:
        """The means, the means by kind, and every set."""
        return [self._means(), self._means_by_kind(), self._every_set()]

    def _row_data(self, row: Row) -> dict[str, Any]:
        return {
            "name": row.name,
            "details": row.details,
            "ours": row.is_ours,
            "told_k": row.told_k,
            "measured": row.measured,
            "others_cpu_share": row.others_cpu_share,
            "all": _metrics(self.summary(row)),
            "kinds": {kind: _metrics(self.summary(row, kind)) for kind in self.kinds},
            "seconds_median": {
                str(threads): self.median_seconds(row, threads, (0, np.inf)) for threads in row.runs
            },
            "seconds_median_of_1000_to_10000_points": {
                str(threads): self.median_seconds(row, threads, MIDDLE_SIZES)
                for threads in row.runs
            },
            "sets": {
                given.name: {
                    **{name: kept.run.scores[name] for name in ("ari", "nmi", "k_found")},
                    "seconds": {
                        str(threads): runs[at].run.seconds for threads, runs in row.runs.items()
                    },
                }
                for at, (given, kept) in enumerate(zip(self.suite, row.scored, strict=True))
            },
        }

    def _means(self) -> Table:
        threads = sorted(self.rows[0].runs)
        header = ["method", "ARI", "NMI", "k exact", "k within one"]
        header += [f"seconds, {_threads(number)}" for number in threads] + ["run of"]
        rows = []
        for row in self.rows:
            metrics = self.summary(row).metrics
            cells = [cell(metrics["ari"]), cell(metrics["nmi"])]
            cells += [f"{metrics[share].mean:.0%}" for share in ("k_exact", "k_within_one")]
            cells += [f"{self.median_seconds(row, n, (0, np.inf)):.3f}" for n in threads]
            rows.append([row.name, *cells, ", ".join(row.measured)])
        title = f"{len(self.suite)} sets of at most {self.k_max} clusters: means, median seconds"
        return Table(title, header, rows)

    def _means_by_kind(self) -> Table:
        sizes = [sum(given.kind == kind for given in self.suite) for kind in self.kinds]
        header = [
            "method",
            *(f"{kind} ({size})" for kind, size in zip(self.kinds, sizes, strict=True)),
        ]
        rows = [
            [row.name, *(cell(self.summary(row, kind).metrics["ari"]) for kind in self.kinds)]
            for row in self.rows
        ]
        return Table("mean ARI by kind", header, rows)

    def _every_set(self) -> Table:
        header = ["set", "points", "columns", "k", *(row.name for row in self.rows)]
        rows = []
        for at, given in enumerate(self.suite):
            cells = [given.name, *map(str, given.points.shape), str(given.n_clusters)]
            for row in self.rows:
                scores = row.scored[at].run.scores
                cells.append(f"{scores['ari']:.2f} ({scores['k_found']:.0f})")
            rows.append(cells)
        return Table("ARI of every set, and the k found", header, rows)


def _with_shares(run: Run) -> Run:
    """The run with the indicators whose means are shares."""
    error = run.scores["k_mae"]
    return run._replace(
        scores={**run.scores, "k_exact": float(error == 0), "k_within_one": float(error <= 1)}
    )


def _set_data(given: SuiteSet) -> dict[str, Any]:
    return {
        "name": given.name,
        "kind": given.kind,
        "points": len(given.points),
        "columns": given.points.shape[1],
        "clusters": given.n_clusters,
        "noise": int((given.labels < 0).sum()),
    }


def _metrics(summary: Summary) -> dict[str, Any]:
    metrics = {name: summary.metrics[name]._asdict() for name in METRICS}
    return {"n_sets": summary.n_sets, "metrics": metrics}


def _threads(number: int) -> str:
    return "1 thread" if number == 1 else f"{number} threads"
