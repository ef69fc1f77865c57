"""`coterie cluster --engine dask`: many Parquet files, on the cores of one machine or of many."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from coterie.cli.options import Engine, parse_n_clusters
from coterie.cli.outputs import STANDARD_OUTPUT
from coterie.cli.progress import Report, stages
from coterie.cli.refusal import refuse, refusing
from coterie.cli.summary import Fit, show, summary

if TYPE_CHECKING:
    from coterie.dask.fitting import Asked
    from coterie.dask.output_folder import Inputs
    from coterie.dask.parquet import Columns
    from coterie.data.tables.table import LeftOut, Table
    from coterie.estimators.drawing import Drawn

STAGES = ("workers", "reading", "clusters", "labelling")


class Settings(NamedTuple):
    """What is asked of the clusters, as on the command line."""

    weights: str
    n_clusters: str | None
    min_cluster_size: int
    noise: bool
    ending: str
    seed: int | None

    def asked(self, n_threads: int | None) -> "Asked":
        """The same for a worker that fits on so many threads."""
        from coterie.dask.fitting import Asked

        return Asked(
            self.weights,
            {
                "n_clusters": parse_n_clusters(self.n_clusters),
                "min_cluster_size": self.min_cluster_size,
                "noise": self.noise,
                "ending": self.ending,
                "random_state": self.seed,
            },
            n_threads,
        )


Choices = tuple[list[str] | None, list[str] | None, list[str] | None]  # columns, exclude, ids


class Read(NamedTuple):
    """The columns that are read, why others are not, and which identify the rows.

    insisted: whether the user named them.
    """

    columns: "Columns"
    left_out: "tuple[LeftOut, ...]"
    ids: tuple[str, ...]
    insisted: bool


def refuse_for_engine(
    engine: Engine | None, out: Path | None, others: Mapping[str, object]
) -> None:
    """Reject options that do not go with an engine, before the work begins."""
    if engine is None:
        refuse("--scheduler needs --engine dask")
    if out is None or out == STANDARD_OUTPUT:
        refuse("--engine dask needs a folder for the labelled files: --out FOLDER")
    for name, value in others.items():
        if value:
            refuse(f"{name} is not supported with --engine dask")


def cluster_on_engine(
    patterns: Sequence[str],
    settings: Settings,
    choices: Choices,
    out: Path | None,
    scheduler: str | None,
    *,
    as_json: bool,
    labels_only: bool = False,
    confident: bool = True,
    n_workers: int | None = None,
) -> None:
    """Cluster the files that patterns match; each gets a labelled file in the folder."""
    assert out is not None
    parse_n_clusters(settings.n_clusters)  # a wrong number is refused before the work begins
    with refusing():
        import coterie.dask
        from coterie.dask.connecting import connected, prepare_workers

        if scheduler is None:
            prepare_workers()
        from coterie.dask.cluster import label_files, loading_on_workers
        from coterie.dask.fitting import Labelling, open_weights, submit_fit
        from coterie.dask.output_folder import matching, open_folder
        from coterie.data.tables.labelled import Sizes
        from coterie.inference.hashed_draw import MAX_ROWS

        inputs = matching(*patterns)
        read = _read(inputs.paths[0], choices)
        written = read.ids if labels_only else None
        kept = {**settings._asdict(), "columns": read.columns.names, "written": written}
        kept["confident"], kept["version"] = confident, coterie.__version__
        n_rows, clock = sum(inputs.n_rows), [time.monotonic()]
        asked = settings.asked(os.cpu_count() if scheduler is None else None)
        with stages() as begin, connected(scheduler, n_workers) as client:
            clock.append(time.monotonic())
            folder = open_folder(out, inputs, kept)
            opened = client.submit(
                open_weights, asked, len(read.columns.names), priority=1, pure=False
            )
            progress = unless_failed(opened, counting(n_rows, begin("reading")))
            draw = _drawing(client, inputs, read.columns, settings.seed, progress)
            with folder.undone_on_failure():
                sample = folder.load_sample()
                if sample is None:
                    sample = draw(MAX_ROWS)
                clock.append(time.monotonic())
                begin("finding clusters")
                with loading_on_workers(client):
                    if min(opened.result(), sample.n_rows) > len(sample.rows):
                        sample = draw(opened.result())  # rare: weights that look at more rows
                    table = _table(sample, read)
                    used = read.columns._replace(names=table.columns)
                    medians = table.encoding.medians
                    labelling = Labelling(used, medians, folder.tag, written, confident)
                    found = submit_fit(client, opened, asked, table, labelling).result()
                folder.save_sample(sample)
            clock.append(time.monotonic())
            progress = counting(n_rows, begin("labelling"))
            outputs = label_files(client, inputs, folder, found.labeller, progress)
            clock.append(time.monotonic())
    sizes = Sizes(found.clustering.n_clusters)
    sizes.counts, sizes.confidence, sizes.noise = outputs.counted
    fit = Fit(settings.weights, found.clustering, found.stability)
    result = summary(", ".join(patterns), table, fit, sizes, (*table.notes, *found.notes))
    result |= {"labels": str(out), "picture": None, "report": None, "saved": None}
    result |= {"files": [str(path) for path in inputs.paths], "labelled_before": outputs.before}
    spent = [round(end - start, 3) for start, end in pairwise(clock)]
    result["seconds"] = dict(zip(STAGES, spent, strict=True))
    if as_json:
        typer.echo(json.dumps(result))
    else:
        show(result)
        if outputs.before:
            typer.echo(f"{outputs.before} of {len(inputs.paths)} files were labelled before")


def counting(n_rows: int, report: Report) -> Callable[[int], None]:
    """A function that adds up rows, and reports their share and how many there are a second."""
    done, start = 0, time.monotonic()

    def add(more: int) -> None:
        nonlocal done
        done += more
        rate = done / max(time.monotonic() - start, 1e-9)
        report(done / max(n_rows, 1), f"{rate:,.0f} rows/s")

    return add


def unless_failed(future: Any, progress: Callable[[int], None]) -> Callable[[int], None]:
    """The progress of the workers, which ends with the error of a future that failed."""

    def add(more: int) -> None:
        if future.status == "error":
            future.result()
        progress(more)

    return add


def _read(first: Path, choices: Choices) -> Read:
    """The numeric columns of the first file that are chosen; others are left out or refused."""
    from coterie.dask.parquet import read_columns_of
    from coterie.data.tables.columnar import Parquet
    from coterie.data.tables.columns import Choice, named, refuse_no_numbers
    from coterie.data.tables.labelled import refuse_labelled
    from coterie.data.tables.table import LeftOut, SourceError

    source = Parquet(first, str(first))
    refuse_labelled(source)
    only, exclude, ids = (entries or () for entries in choices)
    chosen = Choice(only, exclude, ids).of(source)
    columns, others = read_columns_of(first, chosen.tried)
    if chosen.insisted and others:
        name, reason = next(iter(others.items()))
        raise SourceError(f"{first}: column {name!r} has {reason}")
    reasons = chosen.reasons | others
    left_out = tuple(LeftOut(name, reasons[name]) for name in source.columns if name in reasons)
    if not columns.names:
        refuse_no_numbers(source, left_out)
    return Read(columns, left_out, named(source, ids), chosen.insisted)


def _drawing(
    client: Any,
    inputs: "Inputs",
    columns: "Columns",
    seed: int | None,
    progress: Callable[[int], None],
) -> "Callable[[int], Drawn]":
    """A function that draws so many rows, as a model with this seed would."""
    import numpy as np

    from coterie.dask.cluster import gather_files
    from coterie.inference.hashed_draw import salt_of

    salt = salt_of(None if seed is None else np.random.RandomState(seed))
    return lambda size: gather_files(client, inputs, columns, size, salt, progress)


def _table(sample: "Drawn", read: Read) -> "Table":
    """The drawn rows, whose columns are judged as those of a data frame, without gaps."""
    import numpy as np

    from coterie.data.tables.gaps import filled_notes
    from coterie.data.tables.table import Filled, SourceError, Table
    from coterie.frames.table_columns import FrameColumn
    from coterie.frames.table_encoding import NoUsableColumnError, fit_columns

    columns = read.columns
    framed = [
        FrameColumn(name, "truths" if name in columns.truths else "numbers", sample.rows[:, at])
        for at, name in enumerate(columns.names)
    ]
    try:
        encoding = fit_columns(framed, asked=read.insisted)
    except NoUsableColumnError as error:
        raise SourceError(f"the files have no usable column: {error}") from error
    left_out = (*read.left_out, *encoding.left_out)
    encoding = replace(encoding.without_dropped(), left_out=left_out)
    there = np.isin(columns.names, encoding.columns)
    rows, missing = np.ascontiguousarray(sample.rows[:, there]), sample.missing[there]
    medians = encoding.medians
    rows = np.where(np.isnan(rows), medians.astype(rows.dtype), rows)
    filled = tuple(
        Filled(name, int(gaps), float(median))
        for name, gaps, median in zip(encoding.columns, missing, medians, strict=True)
        if gaps
    )
    table = Table(
        encoding.names, rows, sample.n_rows, np.arange(len(rows)), encoding, left_out, filled
    )
    return replace(table, notes=filled_notes(table))
