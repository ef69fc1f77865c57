"""`coterie cluster --engine dask`: many Parquet files, on the cores of one machine or of many."""

import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from coterie.cli.options import Engine, parse_n_clusters
from coterie.cli.outputs import STANDARD_OUTPUT
from coterie.cli.progress import Report, stages
from coterie.cli.refusal import refuse, refusing
from coterie.cli.summary import show, summary

if TYPE_CHECKING:
    from coterie.dask.output_folder import Inputs
    from coterie.dask.parquet import Columns, Labeller
    from coterie.data.tables.table import LeftOut, Table
    from coterie.estimators.amortized import AmortizedClusterer
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


Choices = tuple[list[str] | None, list[str] | None, list[str] | None]  # columns, exclude, ids


class Read(NamedTuple):
    """The columns that are read, why others are not, and which identify the rows.

    insisted: whether the user named them.
    """

    columns: "Columns"
    left_out: "tuple[LeftOut, ...]"
    ids: tuple[str, ...]
    insisted: bool


class OnSample(NamedTuple):
    """The table of the drawn rows, what labels the files, and what the user should know."""

    table: "Table"
    labeller: "Labeller"
    notes: tuple[str, ...]


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
        from coterie.dask.output_folder import matching, open_folder
        from coterie.data.tables.labelled import Sizes
        from coterie.inference.hashed_draw import MAX_ROWS

        inputs = matching(*patterns)
        read = _read(inputs.paths[0], choices)
        written = read.ids if labels_only else None
        kept = {**settings._asdict(), "columns": read.columns.names, "written": written}
        kept["confident"], kept["version"] = confident, coterie.__version__
        n_rows, clock = sum(inputs.n_rows), [time.monotonic()]
        loading = Loading(settings, len(read.columns.names))
        if scheduler is None:
            loading.begin()  # while the workers start
        with stages() as begin, connected(scheduler, n_workers) as client:
            clock.append(time.monotonic())
            folder = open_folder(out, inputs, kept)
            progress = loading.beside(counting(n_rows, begin("reading")))
            draw = _drawing(client, inputs, read.columns, settings.seed, progress)
            with folder.undone_on_failure():
                sample = folder.load_sample()
                if sample is None:
                    sample = draw(MAX_ROWS)
                clock.append(time.monotonic())
                begin("finding clusters")
                with loading_on_workers(client):
                    model = loading.result()
                    if min(model._most_rows(), sample.n_rows) > len(sample.rows):
                        sample = draw(model._most_rows())  # rare: weights that look at more rows
                    table, labeller, notes = _fitted(model, sample, read, folder.tag)
                folder.save_sample(sample)
            labeller = labeller._replace(written=written, confident=confident)
            clock.append(time.monotonic())
            progress = counting(n_rows, begin("labelling"))
            outputs = label_files(client, inputs, folder, labeller, progress)
            clock.append(time.monotonic())
    sizes = Sizes(model.n_clusters_)
    sizes.counts, sizes.confidence, sizes.noise = outputs.counted
    result = summary(", ".join(patterns), table, model, sizes, notes)
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


class Loading:
    """The model, which is loaded while workers start or draw rows.

    Where they have started, it begins with their first result: earlier, it would hold up the tasks
    on their way to them.
    """

    def __init__(self, settings: Settings, n_columns: int) -> None:
        self._aside = ThreadPoolExecutor(1)
        self._load = partial(_model, settings, n_columns)
        self._loaded: Future[AmortizedClusterer] | None = None

    def beside(self, progress: Callable[[int], None]) -> Callable[[int], None]:
        """The progress of the workers, which ends with an error where nothing can be loaded."""

        def add(more: int) -> None:
            if self.begin().done():
                self.result()
            progress(more)

        return add

    def result(self) -> "AmortizedClusterer":
        """The model, once it is there."""
        return self.begin().result()

    def begin(self) -> "Future[AmortizedClusterer]":
        """Load the model, unless that has begun."""
        if self._loaded is None:
            self._loaded = self._aside.submit(self._load)
        return self._loaded


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


def _model(settings: Settings, n_columns: int) -> "AmortizedClusterer":
    from coterie.importing import imports_to_stay

    with imports_to_stay():
        import sklearn.neighbors  # noqa: F401  (which the first fit would import)

        from coterie.estimators.registry import clusterer
    model = clusterer(
        settings.weights,
        n_clusters=parse_n_clusters(settings.n_clusters),
        min_cluster_size=settings.min_cluster_size,
        noise=settings.noise,
        ending=settings.ending,
        random_state=settings.seed,
    )
    return model._open_ahead(n_columns)


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


def _fitted(model: "AmortizedClusterer", sample: "Drawn", read: Read, tag: str) -> OnSample:
    """Fit the model to the drawn rows; their columns are judged as those of a data frame."""
    import numpy as np

    from coterie.dask.parquet import Labeller
    from coterie.data.tables.gaps import filled_notes
    from coterie.data.tables.table import Filled, SourceError, Table
    from coterie.frames.column_parts import Numbers
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
    medians = np.array([part.median for part in encoding.parts if isinstance(part, Numbers)])
    rows = np.where(np.isnan(rows), medians.astype(rows.dtype), rows)
    filled = tuple(
        Filled(name, int(gaps), float(median))
        for name, gaps, median in zip(encoding.columns, missing, medians, strict=True)
        if gaps
    )
    table = Table(
        encoding.names, rows, sample.n_rows, np.arange(len(rows)), encoding, left_out, filled
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model.fit_drawn(table.encoded, sample.n_rows)
    notes = [*filled_notes(table), *(str(warning.message) for warning in caught)]
    used = columns._replace(names=encoding.columns)
    labeller = Labeller(used, medians, model.fitted_.shipped("cpu"), tag)
    return OnSample(table, labeller, tuple(dict.fromkeys(notes)))
