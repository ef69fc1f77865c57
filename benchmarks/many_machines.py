"""Many rows in many Parquet files: time, memory and rate of `coterie cluster --engine dask`.

    python benchmarks/many_machines.py --rows 1e6 1e7 1e8 --folder /tmp/rows

writes 200 files of 8 columns for each number of rows (3.3 GB for 1e8), lets pyarrow alone read all
of them and write one column, then labels them with one worker and with two, and prints a table. The
figures go to benchmarks/results/many_machines.json, beside those of other numbers of rows. Files
that are there already are used again. `--kmeans` runs dask-ml's KMeans on them too.

    python benchmarks/many_machines.py --stages --folder /tmp/rows

prints the rate of each stage on one core, by the time that it computed: other processes on the
machine hardly change it.
"""

import argparse
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from bench.machine import describe_machine

RESULTS = Path(__file__).parent / "results" / "many_machines.json"
COMMAND_LINE = "python benchmarks/many_machines.py --folder /tmp/rows"
N_FILES, N_COLUMNS, N_CLUSTERS = 200, 8, 12
SPREAD = 4.0  # of the centres, in deviations of a cluster
STAGE_ROWS, REPEATS = 500_000, 9
BENT = 0.05  # by how much covariances are made to differ in one of the stages
ALONE, FIRST = "pyarrow alone: read all columns, write one", "first pass: read, hash, draw"
SECOND, NEAREST = "second pass: read, label, write clusters", "second pass, nearest of 2,000 rows"
CONFIDENT = "second pass, clusters and confidence"
LIMIT = 720  # seconds for a run
WATCHED = 0.5  # seconds between two looks at the memory, each of which costs 20 ms
# What is written, as --labels-only and whether not --no-confidence.
WRITTEN = {
    "clusters": (True, False),
    "clusters and confidence": (True, True),
    "all columns": (False, True),
}
# The command, as it is installed, with a number of workers of its own and labels alone.
COMMAND = """
from coterie.cli.quick_exit import QuickExit
quick_exit = QuickExit()
import sys
from pathlib import Path
from coterie.cli.on_engine import Settings, cluster_on_engine
pattern, out, n_workers, labels_only, confident = sys.argv[1:]
settings = Settings("amcp-universal", None, 1, False, "auto", 0)
with quick_exit:
    cluster_on_engine([pattern], settings, (None, None, None), Path(out), None, as_json=True,
                      labels_only=labels_only == "True", confident=confident == "True",
                      n_workers=int(n_workers))
"""
KMEANS = """
import sys, time
import dask.dataframe as dd
from distributed import Client, LocalCluster
from dask_ml.cluster import KMeans
pattern, k, n_workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster:
    with Client(cluster):
        table = dd.read_parquet(pattern).to_dask_array(lengths=True)
        KMeans(n_clusters=k, random_state=0).fit(table).labels_.sum().compute()
"""


@dataclass(frozen=True)
class Run:
    """One run over all files: seconds, those of all cores, peak memory, and what others used.

    others: the share of the machine that other processes had, which disturbed the seconds.
    """

    name: str
    n_rows: int
    seconds: float
    cpu_seconds: float
    peak_gib: float | None
    others: float | None
    told: Any = None


def main() -> None:
    """Measure every number of rows, print and store the figures."""
    options = parser().parse_args()
    if options.stages:
        show_stages(options.folder / "stages")
        return
    for n_rows in (round(float(text)) for text in options.rows):
        folder = made(options.folder / f"{n_rows}", n_rows)
        for run in measured(folder, n_rows, options):
            store(runs=with_run(run, stored()["runs"]))
        if not options.keep:
            shutil.rmtree(folder)
    show([Run(**run) for run in stored()["runs"]])


def stored() -> dict[str, Any]:
    """What was measured before."""
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return {"runs": [], "stages": {}, **found}


def store(**changes: Any) -> None:
    """Write runs or rates of stages into the results."""
    told = stored() | changes | {"command": COMMAND_LINE, "machine": describe_machine()}
    told["date"] = datetime.now(UTC).isoformat(timespec="seconds")
    RESULTS.write_text(json.dumps(told, indent=1) + "\n")


def with_run(run: Run, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs with another one, in place of an earlier one of its kind."""
    others = [each for each in runs if (each["name"], each["n_rows"]) != (run.name, run.n_rows)]
    return sorted([*others, asdict(run)], key=lambda each: each["n_rows"])


def made(folder: Path, n_rows: int, n_files: int = N_FILES) -> Path:
    """A folder of the first files with rows from a mixture of Gaussians, as for every call."""
    centres = np.random.default_rng(0).normal(0, SPREAD, size=(N_CLUSTERS, N_COLUMNS))
    sizes = np.diff(np.linspace(0, n_rows, N_FILES + 1).astype(int))
    folder.mkdir(parents=True, exist_ok=True)
    for number, size in enumerate(sizes[:n_files]):
        path = folder / f"part-{number:03d}.parquet"
        if path.exists():
            continue
        draw = np.random.default_rng([1, number])
        rows = draw.standard_normal((size, N_COLUMNS), dtype=np.float32)
        rows += centres[draw.integers(0, N_CLUSTERS, size)].astype(np.float32)
        columns = {f"x{at}": rows[:, at] for at in range(N_COLUMNS)}
        pq.write_table(pa.table(columns), path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)
    return folder


def measured(folder: Path, n_rows: int, options: argparse.Namespace) -> Iterator[Run]:
    """All runs over the files of a folder."""
    pattern, out = str(folder / "*.parquet"), options.folder / "out"
    yield alone(folder, n_rows, out)
    for n_workers in options.workers:
        for what, (labels_only, confident) in WRITTEN.items():
            if not labels_only and not options.whole:
                continue
            shutil.rmtree(out, ignore_errors=True)
            words = [COMMAND, pattern, str(out), str(n_workers), str(labels_only), str(confident)]
            name = f"{n_workers} worker{'s' if n_workers > 1 else ''}, {what}"
            yield watched(name, n_rows, words)
    shutil.rmtree(out, ignore_errors=True)
    if options.kmeans:
        words = [KMEANS, pattern, str(N_CLUSTERS), str(max(options.workers, default=2))]
        yield watched(f"dask-ml KMeans, k = {N_CLUSTERS}", n_rows, words)


def alone(folder: Path, n_rows: int, out: Path) -> Run:
    """What pyarrow takes to read all files and to write one column of each."""
    out.mkdir(parents=True, exist_ok=True)
    clock = Clock()
    for path in sorted(folder.glob("*.parquet")):
        table = pq.read_table(path)
        pq.write_table(table.select(["x0"]), out / path.name)
    run = Run(
        "pyarrow alone", n_rows, clock.seconds(), clock.own(), None, clock.others_than(clock.own())
    )
    shutil.rmtree(out)
    return run


def watched(name: str, n_rows: int, words: list[str]) -> Run:
    """Run a script in a process of its own; memory is that of all its processes together."""
    clock = Clock()
    process = subprocess.Popen(
        [sys.executable, "-c", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    family = Family(process.pid)
    watching = threading.Thread(target=family.watch, daemon=True)
    watching.start()
    stdout, stderr = finished(process)
    seconds = clock.seconds()
    family.stop.set()
    watching.join()
    others = clock.others_than(family.cpu)
    told: Any = json.loads(stdout) if stdout.startswith("{") else None
    if process.returncode:
        told = {"failed": stderr.strip().splitlines()[-1:]}
    elif told is not None:
        told = {key: told[key] for key in ("n_clusters", "rows", "seconds")}
    return Run(name, n_rows, seconds, family.cpu, family.peak / 2**30, others, told)


def finished(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a process printed, which is killed after LIMIT seconds."""
    try:
        return process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        process.kill()
        return process.communicate()[0], f"killed after {LIMIT} seconds"


class Clock:
    """Time since its creation, and how busy the machine was with other things."""

    def __init__(self) -> None:
        self._start, self._busy = time.monotonic(), busy_seconds()
        self._own = sum(psutil.Process().cpu_times()[:2])

    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def own(self) -> float:
        """Seconds that this process computed since the start."""
        return float(sum(psutil.Process().cpu_times()[:2]) - self._own)

    def others_than(self, own: float) -> float:
        """The share of all cores' time that went to others, given what our processes used."""
        available = self.seconds() * (psutil.cpu_count() or 1)
        return round(max(0.0, (busy_seconds() - self._busy - own) / available), 3)


def busy_seconds() -> float:
    """The busy time of all cores since the machine started."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)


class Family:
    """The memory of a process and all its children, shared pages counted once."""

    def __init__(self, pid: int) -> None:
        self.peak, self.stop = 0, threading.Event()
        self._used: dict[int, float] = {}
        self._process = psutil.Process(pid)

    @property
    def cpu(self) -> float:
        """Seconds that all of them computed."""
        return float(sum(self._used.values()))

    def watch(self) -> None:
        """Look again and again."""
        while not self.stop.wait(WATCHED):
            total = 0
            try:
                family = [self._process, *self._process.children(recursive=True)]
            except psutil.Error:
                return
            for each in family:
                try:
                    total += each.memory_full_info().pss
                    self._used[each.pid] = sum(each.cpu_times()[:2])
                except psutil.Error:  # it has just ended
                    continue
            self.peak = max(self.peak, total)


def show_stages(folder: Path) -> None:
    """Print how many rows a second of computing each stage takes, on one file of one partition."""
    from threadpoolctl import threadpool_limits

    pa.set_cpu_count(1)
    torch.set_num_threads(1)
    path = made(folder, N_FILES * STAGE_ROWS, n_files=1) / "part-000.parquet"
    with threadpool_limits(1):
        found = rates(stages_of(path))
    store(stages={name: round(rate) for name, rate in found.items()})
    for name, rate in found.items():
        print(f"{name}: {rate:,.0f} rows per second of one core")
    for name in (SECOND, CONFIDENT):
        ours = 1 / (1 / found[FIRST] + 1 / found[name])
        print(f"first pass and {name}: {ours / found[ALONE]:.2f} of pyarrow's rate")
    shutil.rmtree(folder)


def stages_of(path: Path) -> dict[str, Callable[[], Any]]:
    """What is timed, by name."""
    from coterie import AMCP
    from coterie.dask.parquet import Columns, Labeller, label_file, survey_file
    from coterie.estimators.drawing import draw
    from coterie.inference.hashed_draw import share_of
    from coterie.inference.rules.partition import PartitionRule

    columns = Columns(tuple(f"x{at}" for at in range(N_COLUMNS)), "float32")
    share = share_of(N_FILES * STAGE_ROWS, 100_000)
    sample = draw(survey_file(path, columns, 100_000, 0))
    model = AMCP().fit_drawn(sample.rows, sample.n_rows)
    whole = Labeller(columns, np.zeros(N_COLUMNS), model.fitted_.shipped("cpu"), "")
    both = whole._replace(written=())
    clusters = both._replace(confident=False)

    def copy_one() -> None:
        table = pq.read_table(path, use_threads=False)
        pq.write_table(table.select(["x0"]), path.with_name("copied"))

    def labelled(labeller: Labeller) -> Callable[[], Any]:
        return lambda: label_file(path, path.with_name("labelled"), labeller)

    def ruled(rule: Any) -> Labeller:
        """The labeller of clusters by another rule."""
        return clusters._replace(fitted=replace(fitted, rule=rule).shipped("cpu"))

    fitted, rows = model.fitted_, sample.rows[:2_000]
    rule: Any = fitted.rule  # a mixture
    bends = np.random.default_rng(0).normal(1, BENT, size=rule.whitening.shape)
    bent = replace(rule, whitening=rule.whitening * torch.from_numpy(bends))
    # The same clusters, as if no density described them.
    near = PartitionRule.of(model.predict(rows), fitted.frame(rows))
    return {
        ALONE: copy_one,
        FIRST: lambda: survey_file(path, columns, 100_000, 0, share),
        SECOND: labelled(clusters),
        CONFIDENT: labelled(both),
        "second pass, covariances of different shapes": labelled(ruled(bent)),
        "second pass, confidence, covariances of different shapes": labelled(
            ruled(bent)._replace(confident=True)
        ),
        "second pass, all columns written again": labelled(whole),
        NEAREST: labelled(ruled(near)),
    }


def rates(stages: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Rows of a file per second of computing, at best; in turns, so that load falls on all alike.

    The first round fetches memory from the system, which a long run does once.
    """
    spent: dict[str, list[float]] = {name: [] for name in stages}
    for _ in range(1 + REPEATS):
        for name, stage in stages.items():
            start = time.process_time()
            stage()
            spent[name].append(time.process_time() - start)
    return {name: STAGE_ROWS / min(each[1:]) for name, each in spent.items()}


def show(runs: list[Run]) -> None:
    """Print the table, the speed-ups and the exponents."""
    print("| rows | run | s | CPU s | rows/s | of pyarrow's rate | GiB in all | others' share |")
    print("|---|---|---|---|---|---|---|---|")
    reference = {run.n_rows: run.seconds for run in runs if run.name == "pyarrow alone"}
    for run in runs:
        memory = "" if run.peak_gib is None else f"{run.peak_gib:.2f}"
        if run.told and "failed" in run.told:
            print(f"| {run.n_rows:,} | {run.name} | failed: {run.told['failed']} | | | | | |")
            continue
        print(
            f"| {run.n_rows:,} | {run.name} | {run.seconds:.1f} | {run.cpu_seconds:.1f} |"
            f" {run.n_rows / run.seconds:,.0f} | {reference[run.n_rows] / run.seconds:.3f} |"
            f" {memory} | {run.others} |"
        )
    for name in dict.fromkeys(run.name for run in runs):
        own = [run for run in runs if run.name == name and not (run.told and "failed" in run.told)]
        for one, other in pairwise(own):
            exponent = np.log(other.seconds / one.seconds) / np.log(other.n_rows / one.n_rows)
            print(f"{name}: exponent from {one.n_rows:,} to {other.n_rows:,} rows {exponent:.2f}")
    for n_rows in reference:
        pair = {run.name: run.seconds for run in runs if run.n_rows == n_rows}
        for what in WRITTEN:
            slow, fast = pair.get(f"1 worker, {what}"), pair.get(f"2 workers, {what}")
            if slow and fast:
                print(f"{n_rows:,} rows, {what}: two workers are {slow / fast:.2f} times as fast")


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    options.add_argument("--rows", nargs="+", default=["1e6", "1e7", "1e8"])
    options.add_argument("--workers", nargs="*", type=int, default=[1, 2])
    options.add_argument("--folder", type=Path, required=True, help="for the files, 8 GB for 1e8")
    options.add_argument("--keep", action="store_true", help="keep the files that were made")
    options.add_argument("--whole", action="store_true", help="also write all columns")
    options.add_argument("--stages", action="store_true", help="print rates of the stages alone")
    options.add_argument("--kmeans", action="store_true", help="also run dask-ml's KMeans, given k")
    return options


if __name__ == "__main__":
    main()
