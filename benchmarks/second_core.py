"""What a second core of this machine is worth: the same work in one process and in two.

    python benchmarks/second_core.py --folder /tmp/rows

Two processes that know nothing of each other do half of the files each, without a scheduler and
without being started: no engine can be faster. Each has one thread. `many_machines.py` makes the
files and stores the figures, beside those of whole runs.
"""

import argparse
import multiprocessing
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from many_machines import N_COLUMNS, N_FILES, STAGE_ROWS, busy_seconds, made, store

REPEATS = 3
IN_CACHE, TURNS = 16_384, 400  # numbers, and how often they are multiplied for each file
Stage = Callable[[Path], Any]


@dataclass(frozen=True)
class Pair:
    """One stage over all files: seconds and CPU seconds of one process, and of two together.

    others: the share of the machine that other processes had in the run of two.
    """

    stage: str
    one: float
    two: float
    cpu_one: float
    cpu_two: float
    others: float


def main() -> None:
    """Measure every stage, print and store."""
    options = parser().parse_args()
    folder = made(options.folder / "second-core", N_FILES * STAGE_ROWS, options.files)
    paths = sorted(folder.glob("*.parquet"))
    found = [measured(name, paths) for name in stages(paths[0])]
    store(second_core=[asdict(pair) for pair in found])
    for pair in found:
        print(
            f"{pair.stage}: {pair.one:.2f} s in one process, {pair.two:.2f} s in two, faster by"
            f" {pair.one / pair.two:.2f}; CPU {pair.cpu_one:.2f} and {pair.cpu_two:.2f} s; others"
            f" had {pair.others:.0%} of the machine"
        )
    if not options.keep:
        shutil.rmtree(folder)


def measured(name: str, paths: list[Path]) -> Pair:
    """The best of several runs of one process and of two, in turns."""
    one = [run(name, [paths]) for _ in range(REPEATS)]
    two = [run(name, [paths[::2], paths[1::2]]) for _ in range(REPEATS)]
    (alone, cpu_alone, _), (both, cpu_both, others) = min(one), min(two)
    return Pair(name, alone, both, cpu_alone, cpu_both, others)


def run(name: str, shares: list[list[Path]]) -> tuple[float, float, float]:
    """Seconds from the common start to the last end, CPU seconds of all, and others' share."""
    context = multiprocessing.get_context("spawn")
    barrier, told = context.Barrier(len(shares) + 1), context.Queue()
    processes = [
        context.Process(target=work, args=(name, share, barrier, told)) for share in shares
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
    return seconds, cpu, others


def work(name: str, paths: list[Path], barrier: Any, told: Any) -> None:
    """What one process does: a stage of each of its files."""
    import torch
    from threadpoolctl import threadpool_limits

    pa.set_cpu_count(1)
    torch.set_num_threads(1)
    with threadpool_limits(1):
        stage = stages(paths[0])[name]
        stage(paths[0])  # what is imported and allocated once
        barrier.wait()
        start = time.process_time()
        for path in paths:
            stage(path)
        told.put(time.process_time() - start)


def stages(first: Path) -> dict[str, Stage]:
    """What is done with a file, by name; the clusters are those of the first file."""
    from coterie import AMCP
    from coterie.dask.parquet import Columns, Labeller, label_file, survey_file
    from coterie.estimators.drawing import draw
    from coterie.inference.hashed_draw import share_of

    columns = Columns(tuple(f"x{at}" for at in range(N_COLUMNS)), "float32")
    share = share_of(N_FILES * STAGE_ROWS, 100_000)
    labellers: list[Labeller] = []

    def labeller() -> Labeller:
        if not labellers:
            sample = draw(survey_file(first, columns, 100_000, 0))
            model = AMCP().fit_drawn(sample.rows, sample.n_rows)
            fitted = model.fitted_.shipped("cpu")
            labellers.append(Labeller(columns, np.zeros(N_COLUMNS), fitted, "", (), False))
        return labellers[0]

    def out(path: Path) -> Path:
        return path.with_suffix(".out")

    def copy_one(path: Path) -> None:
        pq.write_table(pq.read_table(path, use_threads=False).select(["x0"]), out(path))

    def compute(path: Path) -> None:
        numbers = np.ones(IN_CACHE, dtype=np.float32)
        for _ in range(TURNS * 10):
            np.multiply(numbers, 1.0, out=numbers)

    return {
        "arithmetic in the cache": compute,
        "pyarrow alone: read all columns, write one": copy_one,
        "first pass": lambda path: survey_file(path, columns, 100_000, 0, share),
        "second pass, clusters": lambda path: label_file(path, out(path), labeller()),
    }


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    options.add_argument("--folder", type=Path, required=True, help="for the files, 3.3 GB")
    options.add_argument("--files", type=int, default=N_FILES, help="of 500,000 rows each")
    options.add_argument("--keep", action="store_true", help="keep the files that were made")
    return options


if __name__ == "__main__":
    main()
