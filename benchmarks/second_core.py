"""What a second core of this machine is worth: the same work in one process and in two.

    python benchmarks/second_core.py --folder /tmp/rows

Two processes that know nothing of each other do half of the files each, without a scheduler, and
the clock starts when both are ready: no engine can be faster by more. Each computes in one thread.
The figures go to benchmarks/results/many_machines.json, beside those of whole runs.
"""

import argparse
import multiprocessing
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from coterie import AMCP
from coterie.dask.parquet import Columns, Labeller, label_file, survey_file
from coterie.estimators.drawing import draw
from coterie.inference.hashed_draw import share_of
from many_machines import N_COLUMNS, N_FILES, STAGE_ROWS, busy_seconds, made, store

REPEATS = 3
SAMPLE = 100_000
IN_CACHE, TURNS = 4_096, 20_000  # numbers, and how often they are multiplied for each file
COLUMNS = Columns(tuple(f"x{at}" for at in range(N_COLUMNS)), "float32")
Stage = Callable[[Path], Any]


@dataclass(frozen=True)
class Pair:
    """One stage over all files, at best: seconds and CPU seconds of one process, and of two.

    others: the share of the machine that other processes had in the run of two.
    """

    stage: str
    one: float
    two: float
    cpu_one: float
    cpu_two: float
    others: float


class Spent(NamedTuple):
    """Seconds from the common start to the last end, CPU seconds of all, and others' share."""

    seconds: float
    cpu: float
    others: float


def main() -> None:
    """Measure every stage, print and store."""
    options = parser().parse_args()
    folder = made(options.folder / "second-core", N_FILES * STAGE_ROWS, options.files)
    paths = sorted(folder.glob("*.parquet"))[: options.files]
    found = [measured(name, stage, paths) for name, stage in stages(paths[0]).items()]
    store(second_core={"files": len(paths), "stages": [asdict(pair) for pair in found]})
    for pair in found:
        print(
            f"{pair.stage}: {pair.one:.2f} s in one process, {pair.two:.2f} s in two, faster by"
            f" {pair.one / pair.two:.2f}; CPU {pair.cpu_one:.2f} and {pair.cpu_two:.2f} s; others"
            f" had {pair.others:.0%} of the machine"
        )
    for path in folder.glob("*.out"):
        path.unlink()
    if not options.keep:
        shutil.rmtree(folder)


def measured(name: str, stage: Stage, paths: list[Path]) -> Pair:
    """The best of several runs of one process and of two, in turns."""
    both = [(run(stage, [paths]), run(stage, [paths[::2], paths[1::2]])) for _ in range(REPEATS)]
    one, two = (min(runs) for runs in zip(*both, strict=True))
    return Pair(name, one.seconds, two.seconds, one.cpu, two.cpu, two.others)


def run(stage: Stage, shares: list[list[Path]]) -> Spent:
    """Let one process for each share of the files do a stage."""
    context = multiprocessing.get_context("spawn")
    barrier, told = context.Barrier(len(shares) + 1), context.Queue()
    processes = [
        context.Process(target=work, args=(stage, share, barrier, told)) for share in shares
    ]
    for process in processes:
        process.start()
    barrier.wait()
    start, busy = time.monotonic(), busy_seconds()
    cpu = sum(told.get() for _ in processes)
    seconds = time.monotonic() - start
    available = seconds * (psutil.cpu_count() or 1)
    others = round(max(0.0, (busy_seconds() - busy - cpu) / available), 3)
    for process in processes:
        process.join()
    return Spent(seconds, cpu, others)


def work(stage: Stage, paths: list[Path], barrier: Any, told: Any) -> None:
    """What one process does: a stage of each of its files."""
    from threadpoolctl import threadpool_limits

    pa.set_cpu_count(1)
    torch.set_num_threads(1)
    with threadpool_limits(1):
        stage(paths[0])  # what is loaded and allocated once
        barrier.wait()
        start = time.process_time()
        for path in paths:
            stage(path)
        told.put(time.process_time() - start)


def stages(first: Path) -> dict[str, Stage]:
    """What is done with a file, by name; the clusters are those of the first file."""
    sample = draw(survey_file(first, COLUMNS, SAMPLE, 0))
    fitted = AMCP().fit_drawn(sample.rows, sample.n_rows).fitted_.shipped("cpu")
    labeller = Labeller(COLUMNS, np.zeros(N_COLUMNS), fitted, "", (), False)
    return {
        "arithmetic in the cache": compute,
        "pyarrow alone": copy_one,
        "first pass": surveyed,
        "second pass, clusters": partial(labelled, labeller=labeller),
        "second pass, clusters and confidence": partial(
            labelled, labeller=labeller._replace(confident=True)
        ),
    }


def compute(path: Path) -> None:
    """Arithmetic that needs no memory but the cache of its core."""
    numbers = np.ones(IN_CACHE, dtype=np.float32)
    for _ in range(TURNS):
        np.multiply(numbers, 1.0, out=numbers)


def copy_one(path: Path) -> None:
    """Read all columns and write one."""
    table = pq.read_table(path, use_threads=False, pre_buffer=False)
    pq.write_table(table.select(["x0"]), path.with_suffix(".out"))


def surveyed(path: Path) -> None:
    """Read, hash and draw."""
    survey_file(path, COLUMNS, SAMPLE, 0, share_of(N_FILES * STAGE_ROWS, SAMPLE))


def labelled(path: Path, labeller: Labeller) -> None:
    """Read, label and write."""
    label_file(path, path.with_suffix(".out"), labeller)


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    options.add_argument("--folder", type=Path, required=True, help="for the files, 3.3 GB")
    options.add_argument("--files", type=int, default=N_FILES, help="of 500,000 rows each")
    options.add_argument("--keep", action="store_true", help="keep the files that were made")
    return options


if __name__ == "__main__":
    main()
