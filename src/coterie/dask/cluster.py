"""Work on a cluster of dask: one task for each file, results as they come."""

import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import reduce
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from coterie.dask.connecting import takes_turns
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
from coterie.files.replacing import remove_leftovers
from coterie.importing import imports_to_stay
from coterie.inference.hashed_draw import share_of
from coterie.inference.row_hashes import Hashes

SHOWN = 3  # of the files that failed
_turn = Lock()  # of a worker that has a thread more than it has a core

Progress = Callable[[int], None]  # receives the number of rows done


def gather_files(
    client: Any, inputs: Inputs, columns: Columns, size: int, salt: int, progress: Progress
) -> Drawn:
    """The first pass: draw at most size rows of all files."""

    def locate_all(hashes: Hashes) -> list[Located]:
        again = client.map(
            locate_in_file, inputs.paths, columns=columns, hashes=hashes, salt=salt, pure=False
        )
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
    size, salt, share = wanted
    futures = client.map(
        _survey_in_turn if takes_turns(client) else survey_file,
        inputs.paths,
        columns=columns,
        size=size,
        salt=salt,
        share=share,
        pure=False,
    )
    levels: list[list[Any]] = [[]]

    def add(survey: Any, level: int = 0) -> None:
        """Merge surveys where they are, several of a level at once, and release them."""
        if level == len(levels):
            levels.append([])
        levels[level].append(survey)
        if len(levels[level]) == AT_ONCE:
            # Before files that have not been read yet: what waits to be merged takes memory.
            merged = client.submit(merge, levels[level], pure=False, priority=1)
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
    client: Any, inputs: Inputs, folder: OutputFolder, labeller: bytes, progress: Progress
) -> Outputs:
    """The second pass: label all files that are not labelled yet, by a pickled `Labeller`."""
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
    sent = client.submit(pickle.loads, labeller, pure=False)
    targets = [folder.target(path) for path in left.paths]
    label = _label_in_turn if takes_turns(client) else label_file
    futures = client.map(label, left.paths, targets, labeller=sent, pure=False)
    kept = f"the others are in {folder.path}; run the same command again when it is repaired"
    counted += [future.result() for future in _finished(futures, left, progress, kept)]
    remove_leftovers(folder.path)  # of workers that were killed
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


@contextmanager
def loading_on_workers(client: Any) -> Iterator[None]:
    """Let all workers load what labels rows: they have time while the clusters are found."""
    loading = [client.submit(_load, workers=[each], pure=False) for each in client.nthreads()]
    yield
    del loading  # it does not matter whether all have


def _load() -> None:
    with imports_to_stay():
        import_module("coterie.estimators.fitted")


def _survey_in_turn(path: Path, columns: Columns, size: int, salt: int, share: float) -> Survey:
    with _turn:
        return survey_file(path, columns, size, salt, share)


def _label_in_turn(path: Path, target: Path, labeller: Labeller) -> Labelled:
    """Label a file; the next one begins while the disk stores it."""
    with ExitStack() as turn:
        turn.enter_context(_turn)
        return label_file(path, target, labeller, turn.close)
