"""The growth of time and memory with the number of points of one set.

Memory is what a fit needs beyond its input and the loaded model. On the CPU every size runs in its
own process, because a process seldom returns memory to the system.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from bench.machine import Stopwatch
from bench.memory import meter
from bench.models import open_network, run_loop
from bench.race import Progress
from bench.timing import exponent, timed
from coterie.data.batch import SetBatch
from coterie.estimators.registry import clusterer

COLUMNS = 2
CENTRES = np.array([[-3, -3], [3, -3], [-3, 3], [3, 3]], dtype=np.float32)
SCALE = 0.25
SMALLEST, FITTED_FROM, WHOLE_UP_TO = 1_000, 10_000, 1_000_000
WARM_UP_POINTS = 300
REPEATS, ENOUGH_SECONDS = 3, 2.0

Points = NDArray[np.float32]
Call = Callable[[], int]  # returns the number of clusters


class Task(NamedTuple):
    """One measurement: the work to do on the first n_points of a float32 file."""

    what: str
    weights: str
    n_points: int
    device: str
    file: str
    threads: int


class Sample(NamedTuple):
    """The cost of one size: the median time of the repeats, and the peak memory of the first.

    bytes_per_value: the peak divided by points times columns; others_cpu_share: the share of the
    machine's cores used by other processes.
    """

    n_points: int
    n_clusters: int
    seconds: float
    repeats: int
    peak_bytes: int
    bytes_per_value: float
    others_cpu_share: float | None


class Curve(NamedTuple):
    """Samples of growing size, and the exponents fitted from FITTED_FROM points on.

    stopped: why larger samples are missing, None if there are all.
    """

    what: str
    samples: tuple[Sample, ...]
    stopped: str | None
    time_exponent: float | None
    memory_exponent: float | None


class Growth(NamedTuple):
    """The curves of one model."""

    weights: str
    columns: int
    curves: tuple[Curve, ...]


class Stopped(RuntimeError):
    """A size that could not be measured, most likely for lack of memory."""


def fit(weights: str, points: Points, device: str) -> Call:
    """The estimator with its defaults: the network reads a sample, the rule labels all points."""
    model = clusterer(weights, device=device, random_state=0)
    return lambda: model.fit(points).n_clusters_


def fit_whole(weights: str, points: Points, device: str) -> Call:
    """The estimator with all points as the context."""
    model = clusterer(weights, device=device, random_state=0, context_size=len(points))
    return lambda: model.fit(points).n_clusters_


def loop_whole(weights: str, points: Points, device: str) -> Call:
    """The network alone, over all points."""
    system = open_network(weights, device).system
    batch = SetBatch.single(torch.from_numpy(points).to(device))
    return lambda: len(run_loop(system, batch).commits)


class Kind(NamedTuple):
    """A kind of work, and the largest number of points at which it is measured."""

    prepare: Callable[[str, Points, str], Call]
    largest: float


KINDS = {
    "fit": Kind(fit, float("inf")),
    "fit, all points in the context": Kind(fit_whole, WHOLE_UP_TO),
    "loop over all points": Kind(loop_whole, WHOLE_UP_TO),
}


def draw_points(n_points: int, seed: int) -> Points:
    """Points (n, 2) of four round clusters, in random order."""
    generator = np.random.default_rng(seed)
    points = generator.standard_normal((n_points, COLUMNS), dtype=np.float32)
    points *= np.float32(SCALE)
    points += CENTRES[generator.integers(len(CENTRES), size=n_points, dtype=np.int8)]
    return points


def sizes_up_to(max_points: int) -> list[int]:
    """The powers of ten from SMALLEST to max_points."""
    return [10**power for power in range(3, len(str(max_points))) if 10**power <= max_points]


def measure_growth(
    weights: str, *, device: str, max_points: int, seed: int, progress: Progress | None = None
) -> Growth:
    """Measure every kind of work at every size, on the CPU in one process each."""
    sizes = sizes_up_to(max_points)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "points"
        draw_points(max(sizes), seed).tofile(file)

        def curve(what: str) -> Curve:
            wanted = [size for size in sizes if size <= KINDS[what].largest]
            samples: list[Sample] = []
            for size in wanted:
                task = Task(what, weights, size, device, str(file), torch.get_num_threads())
                try:
                    samples.append(measure(task) if device != "cpu" else measure_apart(task))
                except Stopped as stopped:
                    return fitted(what, samples, f"{size:,} points: {stopped}")
                if progress is not None:
                    progress(what, len(samples), len(wanted))
            return fitted(what, samples)

        return Growth(weights, COLUMNS, tuple(curve(what) for what in KINDS))


def fitted(what: str, samples: Sequence[Sample], stopped: str | None = None) -> Curve:
    """A curve with the exponents fitted to its samples."""
    large = [sample for sample in samples if sample.n_points >= FITTED_FROM]
    sizes = [sample.n_points for sample in large]
    return Curve(
        what,
        tuple(samples),
        stopped,
        exponent(sizes, [sample.seconds for sample in large]),
        exponent(sizes, [sample.peak_bytes for sample in large]),
    )


def measure(task: Task) -> Sample:
    """Run a task in this process, after a warm-up on a few points."""
    points = np.fromfile(task.file, np.float32, task.n_points * COLUMNS).reshape(-1, COLUMNS)
    prepare = KINDS[task.what].prepare
    prepare(task.weights, points[:WARM_UP_POINTS].copy(), task.device)()
    try:
        call = prepare(task.weights, points, task.device)
        stopwatch, memory = Stopwatch(), meter(task.device)
        n_clusters, first = timed(call, task.device)
        peak_bytes, seconds = memory.peak(), [first]
        while len(seconds) < REPEATS and sum(seconds) < ENOUGH_SECONDS:
            seconds.append(timed(call, task.device).seconds)
    except torch.OutOfMemoryError as error:
        raise Stopped("the device has too little memory") from error
    return Sample(
        task.n_points,
        n_clusters,
        float(np.median(seconds)),
        len(seconds),
        peak_bytes,
        peak_bytes / points.size,
        stopwatch.others_share(),
    )


def measure_apart(task: Task) -> Sample:
    """Run a task in a new process."""
    command = [sys.executable, "-m", "bench.growth", json.dumps(task)]
    path = os.pathsep.join([str(Path(__file__).parent.parent), *filter(None, sys.path)])
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    if done.returncode < 0:  # the kernel kills a process that uses too much memory
        raise Stopped(f"the process was ended by signal {-done.returncode}")
    if done.returncode > 0:
        raise Stopped((done.stderr.strip() or "no reason given").splitlines()[-1])
    return Sample(*json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Measure the task given on the command line and print the sample."""
    task = Task(*json.loads(sys.argv[1]))
    torch.set_num_threads(task.threads)
    print(json.dumps(measure(task)))


if __name__ == "__main__":
    main()
