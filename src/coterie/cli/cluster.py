"""`coterie cluster`: a table in, clusters out."""

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.cli.invocation import command_line
from coterie.cli.n_clusters import NClusters, parse_n_clusters
from coterie.cli.options import (
    Array,
    AsJson,
    Columns,
    Encoding,
    Exclude,
    File,
    Id,
    MinClusterSize,
    Noise,
    Sample,
    Seed,
    Separator,
    shipped_weights,
)
from coterie.cli.outputs import (
    STANDARD_OUTPUT,
    Found,
    Targets,
    draw,
    refuse_targets,
    write_labels,
    write_report,
)
from coterie.cli.progress import stages
from coterie.cli.refusal import refuse, refusing
from coterie.cli.summary import show, summary

if TYPE_CHECKING:
    from coterie.data.tables.table import Table
    from coterie.estimators.amortized import AmortizedClusterer


def cluster(
    context: typer.Context,
    file: File,
    weights: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="A shipped model (see coterie models) or a file.",
            autocompletion=shipped_weights,
        ),
    ] = "amcp-universal",
    n_clusters: NClusters = None,
    min_cluster_size: MinClusterSize = 1,
    noise: Noise = False,
    columns: Columns = None,
    exclude: Exclude = None,
    ids: Id = None,
    separator: Separator = None,
    encoding: Encoding = "utf-8",
    array: Array = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the rows with their cluster and confidence, in the format they came in;"
            " - is standard output.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write one HTML page that shows and explains it all."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the clusters as they were found.")
    ] = None,
    as_json: AsJson = False,
    sample: Sample = None,
    seed: Seed = 0,
    no_consolidate: Annotated[
        bool,
        typer.Option(
            "--no-consolidate", help="Keep what the network proposed, without a revision."
        ),
    ] = False,
) -> None:
    """Find the clusters of the rows of a table, and how many there are."""
    targets = Targets(out, plot, report)
    if as_json and out == STANDARD_OUTPUT:
        refuse("--json and --out - would both write to standard output")
    with refusing():
        from coterie.data.tables.columns import Choice
        from coterie.data.tables.files import opened
        from coterie.data.tables.survey import read_table
        from coterie.estimators.registry import clusterer

        choice = Choice(columns or (), exclude or (), ids or ())
        with (
            stages() as begin,
            opened(file, separator=separator, encoding=encoding, array=array) as source,
        ):
            refuse_targets(file, source, targets)
            model = clusterer(
                weights,
                n_clusters=parse_n_clusters(n_clusters),
                min_cluster_size=min_cluster_size,
                noise=noise,
                consolidate=not no_consolidate,
                whole_trace=targets.report is not None,
                random_state=seed,
            )
            table = read_table(
                source, choice, max_rows=sample, seed=seed, progress=begin("reading")
            )
            begin("finding clusters")
            found = _fit(model, table)
            sizes = write_labels(source, table, model, targets.labels, begin)
            draw(table, model, targets.picture)
            if targets.report is not None:
                begin("writing the report")
                command = command_line(context)
                write_report(source, table, found, sizes, choice, command, targets.report)
    result = summary(str(file), table, model, sizes, found.notes)
    result |= {name: path and str(path) for name, path in targets._asdict().items()}
    if as_json:
        typer.echo(json.dumps(result))
    else:
        show(result, to_stderr=out == STANDARD_OUTPUT)


def _fit(model: "AmortizedClusterer", table: "Table") -> Found:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model.fit(table.values)
    notes = [str(warning.message) for warning in caught]
    every = [*table.notes, *notes, *model.clustering_.warnings]
    return Found(model, tuple(dict.fromkeys(every)))
