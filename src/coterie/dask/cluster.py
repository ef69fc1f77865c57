"""Work on a cluster of dask: one task for each file, results as they come."""

import logging
import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from coterie.dask.gather import AT_ONCE
from coterie.dask.output_folder import Inputs, OutputFolder
from coterie.dask.parquet import (
    Columns,
    Labelled,
    Labeller,
    added,
    label_file,
    locate_in_file,
    read_labelled,
    survey_file,
)
from coterie.dask.partitions import PartitionError
from coterie.estimators.drawing import Drawn, Located, Survey, draw, merge
from coterie.inference.hashed_draw import share_of
from coterie.inference.row_hashes import Hashes

TIMEOUT = 10.0  # seconds until a scheduler must have answered
SHOWN = 3  # of the files that failed
# Of workers. Dask also has memory trimmed after each use, with which labelling takes three times
# as long.
ENVIRONMENT = {"OMP_NUM_THREADS": 1, "MKL_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1}

# Workers are copies of a process that has loaded what labels rows, where the system can do so.
LOADED = ["distributed", "coterie.estimators.fitted"]
FORKED = "forkserver" in multiprocessing.get_all_start_methods()

Progress = Callable[[int], None]  # receives the number of rows done


@contextmanager
def connected(scheduler: str | None, n_workers: int | None = None) -> Iterator[Any]:
    """A client of the scheduler at an address, or of workers on this machine."""
    from distributed import Client, LocalCluster

    if scheduler is None:
        with (
            _own_workers(),
            LocalCluster(
                n_workers=n_workers or os.cpu_count(),
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = Client(scheduler, timeout=TIMEOUT)
    except (OSError, ValueError, TimeoutError) as error:
        raise ConnectionError(
            f"the scheduler {scheduler} does not answer, after {TIMEOUT:.0f} seconds: {error}"
        ) from error
    with client:
        yield client


@contextmanager
def _own_workers() -> Iterator[None]:
    """How workers on this machine are started."""
    import dask
    from distributed.utils import get_mp_context

    method = "forkserver" if FORKED else "spawn"
    with dask.config.set(
        {
            "distributed.nanny.pre-spawn-environ": ENVIRONMENT,
            "distributed.worker.multiprocessing-method": method,
        }
    ):
        if FORKED:
            get_mp_context().set_forkserver_preload(LOADED)
        yield


def gather_files(
    client: Any, inputs: Inputs, columns: Columns, size: int, salt: int, progress: Progress
) -> Drawn:
    """The first pass: draw at most size rows of all files."""

    def locate_all(hashes: Hashes) -> list[Located]:
        again = [
            client.submit(locate_in_file, path, columns, hashes, salt, pure=False)
            for path in inputs.paths
        ]
        return [future.result() for future in _finished(again, inputs)]

    share = share_of(sum(inputs.n_rows), size)
    total = _survey_files(client, inputs, columns, (size, salt, share), progress)
    if total.sketch.is_short:  # most rows are equal to others
        total = _survey_files(client, inputs, columns, (size, salt, 1.0))
    return draw(total, locate_all)


def _survey_files(
    client: Any,
    inputs: Inputs,
    columns: Columns,
    wanted: tuple[int, int, float],
    progress: Progress = lambda n_rows: None,
) -> Survey:
    """The survey of all files; wanted: size and salt of the sample, and a share of the values."""
    futures = [
        client.submit(survey_file, path, columns, *wanted, pure=False) for path in inputs.paths
    ]
    levels: list[list[Any]] = [[]]

    def add(survey: Any, level: int = 0) -> None:
        """Merge surveys where they are, several of a level at once, and release them."""
        if level == len(levels):
            levels.append([])
        levels[level].append(survey)
        if len(levels[level]) == AT_ONCE:
            merged = client.submit(merge, levels[level], pure=False)
            levels[level] = []
            add(merged, level + 1)

    for future in _finished(futures, inputs, progress, "nothing was written"):
        add(future)

    rest = [survey for level in levels for survey in level]
    survey: Survey = client.submit(merge, rest, pure=False).result()
    return survey


class Outputs(NamedTuple):
    """How many files were labelled before this run, and what all of them count."""

    before: int
    counted: Labelled


def label_files(
    client: Any, inputs: Inputs, folder: OutputFolder, labeller: Labeller, progress: Progress
) -> Outputs:
    """The second pass: label all files that are not labelled yet."""
    counted, rest = [], []
    for path, n_rows in zip(inputs.paths, inputs.n_rows, strict=True):
        earlier = read_labelled(folder.target(path), folder.tag, n_rows)
        if earlier is None:
            rest.append((path, n_rows))
        else:
            counted.append(earlier)
            progress(n_rows)
    before = len(counted)
    left = Inputs(tuple(path for path, _ in rest), tuple(n_rows for _, n_rows in rest))
    # A task, not scattered data: where a worker is lost, the scheduler has it still.
    sent = client.submit(_itself, labeller, pure=False)
    futures = [
        client.submit(label_file, path, folder.target(path), sent, pure=False)
        for path in left.paths
    ]
    kept = f"the others are in {folder.path}; run the same command again when it is repaired"
    counted += [future.result() for future in _finished(futures, left, progress, kept)]
    return Outputs(before, reduce(added, counted))


def _finished(
    futures: list[Any],
    inputs: Inputs,
    progress: Progress = lambda n_rows: None,
    consequence: str = "",
) -> Iterator[Any]:
    """The futures, one for each file, as they finish; then an error names those that failed."""
    from distributed import as_completed

    at = {future.key: number for number, future in enumerate(futures)}
    waiting = as_completed(futures)
    futures.clear()  # results are released as soon as nobody needs them
    failed: dict[Path, BaseException] = {}
    for future in waiting:
        number = at[future.key]
        if future.status == "finished":
            progress(inputs.n_rows[number])
            yield future
        else:
            failed[inputs.paths[number]] = future.exception()
    if failed:
        raise PartitionError(_told(failed, consequence))


def _told(failed: dict[Path, BaseException], consequence: str) -> str:
    lines = [_reason(path, failed[path]) for path in sorted(failed)[:SHOWN]]
    more = f"; and {len(failed) - SHOWN} more" if len(failed) > SHOWN else ""
    return "; ".join(lines) + more + (f" ({consequence})" if consequence else "")


def _reason(path: Path, error: BaseException) -> str:
    if isinstance(error, PartitionError):
        return str(error)
    if type(error).__name__ == "KilledWorker":
        return f"{path}: several workers were killed while they read it (too little memory?)"
    return f"{path}: {type(error).__name__}: {error}"


def _itself(value: Any) -> Any:
    return value
