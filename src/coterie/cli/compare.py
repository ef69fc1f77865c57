"""`coterie compare`: our models and other methods on one table."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from coterie.cli.options import (
    Array,
    AsJson,
    Categorical,
    Columns,
    DecimalSign,
    Encoding,
    Exclude,
    File,
    Header,
    Id,
    Seed,
    Separator,
    shipped_weights,
)
from coterie.cli.printable import printable
from coterie.cli.progress import stages
from coterie.cli.refusal import refuse, refusing
from coterie.cli.summary import listed
from coterie.cli.tables import show_tables
from coterie.importing import imports_of_a_command

if TYPE_CHECKING:
    from coterie.comparison.side_by_side import Comparison
    from coterie.data.tables.table import Table


def compare(
    file: File,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column with the true clusters: adds ARI, NMI and ACC.",
            show_default=False,
        ),
    ] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A shipped model or a weights file; may be repeated."
            " Default: that of coterie cluster.",
            show_default=False,
            autocompletion=shipped_weights,
        ),
    ] = None,
    max_clusters: Annotated[
        int,
        typer.Option(
            metavar="K",
            min=2,
            help="Upper limit for methods that search for the number of clusters.",
        ),
    ] = 12,
    columns: Columns = None,
    exclude: Exclude = None,
    categorical: Categorical = None,
    ids: Id = None,
    separator: Separator = None,
    decimal: DecimalSign = None,
    header: Header = None,
    encoding: Encoding = None,
    array: Array = None,
    sample: Annotated[
        int,
        typer.Option(metavar="N", min=2, help="Maximum number of rows; longer files are sampled."),
    ] = 5000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Compare our model with common methods on one table.

    The other methods get standardised columns; our models scale the columns themselves or read
    them unscaled, as their cards state.

    Agreement is the mean adjusted Rand index with the other methods: one for identical clusters,
    zero for random ones. Silhouette (higher is better) and DBI (lower is better) favour round
    clusters.
    """
    with refusing(), stages() as begin:
        with imports_of_a_command():
            import numpy as np

            from coterie.comparison.methods import amortized
            from coterie.comparison.peers import peers, standardised
            from coterie.comparison.side_by_side import compare as run
            from coterie.data.tables.columns import Choice, named
            from coterie.data.tables.files import opened, read_as
            from coterie.data.tables.survey import read_rows, read_table
            from coterie.estimators.registry import DEFAULT, clusterer
            from coterie.weights.catalogue import open_model

        names = weights or [DEFAULT]
        for name in names:
            open_model(name)  # fail early for unknown models
        truth = None
        with opened(
            file,
            separator=separator,
            encoding=encoding,
            array=array,
            decimal=decimal,
            header=header,
        ) as source:
            labels = named(source, [label]) if label is not None else ()
            if len(labels) > 1:
                refuse("--label takes one column")
            choice = Choice(
                columns or (), exclude or (), ids or (), labels, categorical or (), encode=True
            )
            table = read_table(
                source, choice, max_rows=sample, seed=seed, progress=begin("reading")
            )
            for cells in read_rows(source, labels, table.rows).values():
                truth = np.array(cells)
        if len(table.values) < 2:
            refuse(f"{source.name} has a single row; a comparison needs two or more")
        methods = [
            *(
                amortized(name, clusterer(name, random_state=seed), table.encoding)
                for name in names
            ),
            *map(standardised, peers(min(max_clusters, len(table.values)))),
        ]
        comparison = run(table.values, methods, truth, progress=begin("comparing"))
    result = _result(str(file), table, comparison, label) | {"read_as": read_as(source)}
    if as_json:
        typer.echo(json.dumps(result))
    else:
        _show(result)


def _result(
    file: str, table: "Table", comparison: "Comparison", label: str | None
) -> dict[str, Any]:
    """The comparison as a JSON object."""
    pairs = [
        [None if value != value else round(float(value), 6) for value in line]  # NaN != NaN
        for line in comparison.agreement
    ]
    return {
        "file": file,
        "rows": table.n_rows,
        "compared_rows": len(table.values),
        "columns": list(table.columns),
        "left_out": [column._asdict() for column in table.left_out],
        "filled": [column._asdict() for column in table.filled],
        "label": label,
        "methods": [row._asdict() for row in comparison.rows],
        "agreement": pairs,
        "notes": list(table.notes),
    }


def _show(result: dict[str, Any]) -> None:
    console = Console(highlight=False)

    def say(text: str) -> None:
        console.print(printable(text), soft_wrap=True)

    rows, compared = result["rows"], result["compared_rows"]
    sampled = f", compared on a sample of {compared:,}" if compared < rows else ""
    say(f"[dim]rows     [/] {rows:,}{sampled}")
    if result.get("read_as"):
        say(f"[dim]read as  [/] {escape(result['read_as']['summary'])}")
    say(f"[dim]columns  [/] {escape(listed(result['columns']))}")
    for column in result["left_out"]:
        say(
            f"[dim]dropped  [/] {escape(column['name'] or '(no name)')}: {escape(column['reason'])}"
        )
    scores = ["ari", "nmi", "acc"] if result["label"] is not None else []
    keys = ["n_clusters", *scores, "agreement", "silhouette", "dbi", "seconds"]
    header = ["method", "k", *map(str.upper, scores), "agreement", "silhouette", "DBI", "seconds"]
    answered = [row for row in result["methods"] if row["refusal"] is None]
    cells = [[row["method"], *(_cell(key, row[key]) for key in keys)] for row in answered]
    title = f"{len(answered)} methods on {result['file']}"
    show_tables([(title, header, cells)], console)
    for row in result["methods"]:
        if row["refusal"] is not None:
            say(f"[yellow]{escape(row['method'])}[/] failed: {escape(row['refusal'])}")
    for note in result["notes"]:
        say(f"[yellow]note     [/] {escape(note)}")
    notes: dict[str, list[str]] = {}
    for row in answered:
        for note in row["notes"]:
            notes.setdefault(note, []).append(row["method"])
    for note, methods in notes.items():
        say(f"[yellow]note     [/] {escape(', '.join(methods))}: {escape(note)}")


def _cell(key: str, value: float | None) -> str:
    if value is None:
        return ""
    return str(value) if key == "n_clusters" else f"{value:.3f}"
