"""`coterie cluster`: a file in, clusters out."""

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from coterie.cli.refusal import refuse, refusing

if TYPE_CHECKING:
    from coterie.data.sources import Table
    from coterie.estimators.base import AmortizedClusterer

BAR = 20


class Written(NamedTuple):
    """Where the labels and the picture went."""

    labels: Path | None
    picture: Path | None


def cluster(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A CSV file with a header, or a .tsv.")
    ],
    weights: Annotated[
        str, typer.Option(metavar="NAME", help="A shipped model (see coterie models) or a file.")
    ] = "amcp-mog2d",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the rows with their cluster and confidence."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the clusters as they were found.")
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Draws the sample of a very long table.")
    ] = 0,
    no_consolidate: Annotated[
        bool,
        typer.Option(
            "--no-consolidate", help="Keep what the network proposed, without a revision."
        ),
    ] = False,
) -> None:
    """Find the clusters of the rows of a table, and how many there are."""
    with refusing():
        from coterie.data.sources import read_table, refuse_labelled

        table = read_table(file)
        if out is not None:
            refuse_labelled(file, table)
            _refuse_overwriting(file, out)
        if plot is not None:
            _refuse_picture(file, plot)
        model, notes = _fit(table, weights, seed, consolidate=not no_consolidate)
        written = _write(file, table, model, out, plot)
    summary = _summary(file, table, model, notes, written)
    if as_json:
        typer.echo(json.dumps(summary))
    else:
        _show(summary)


def _fit(
    table: "Table", weights: str, seed: int, *, consolidate: bool
) -> "tuple[AmortizedClusterer, list[str]]":
    from coterie.estimators.quick import clusterer

    model = clusterer(weights, consolidate=consolidate, random_state=seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model.fit(table.values)
    notes = [str(warning.message) for warning in caught]
    return model, list(dict.fromkeys([*notes, *model.clustering_.warnings]))


def _write(
    file: Path, table: "Table", model: "AmortizedClusterer", out: Path | None, plot: Path | None
) -> Written:
    if out is not None:
        from coterie.data.sources import write_labelled

        write_labelled(file, out, model.labels_, model.probabilities_.max(1))
    if plot is not None:
        from coterie.plots import plot_steps

        plot.parent.mkdir(parents=True, exist_ok=True)
        plot_steps(table.values, model.clustering_, names=table.names).savefig(plot)
    return Written(out, plot)


def _refuse_overwriting(file: Path, target: Path) -> None:
    if target.exists() and target.samefile(file):
        refuse(f"{target} is the input itself; write to another file")


def _refuse_picture(file: Path, plot: Path) -> None:
    from coterie.plots import SUFFIXES

    if plot.suffix.lower() not in SUFFIXES:
        refuse(f"cannot draw {plot}; a picture ends in {', '.join(SUFFIXES)}")
    _refuse_overwriting(file, plot)


def _summary(
    file: Path, table: "Table", model: "AmortizedClusterer", notes: list[str], written: Written
) -> dict[str, Any]:
    confidence = model.probabilities_.max(1)
    members = [model.labels_ == number for number in range(model.n_clusters_)]
    return {
        "file": str(file),
        "rows": table.n_rows,
        "columns": list(table.names),
        "left_out": [column._asdict() for column in table.left_out],
        "weights": str(model.weights),
        "n_clusters": model.n_clusters_,
        "clusters": [
            {
                "cluster": number,
                "size": int(member.sum()),
                "mean_confidence": round(float(confidence[member].mean()), 6),
            }
            for number, member in enumerate(members)
        ],
        "mean_log_likelihood": model.clustering_.log_likelihood,
        "labels": None if written.labels is None else str(written.labels),
        "picture": None if written.picture is None else str(written.picture),
        "notes": notes,
    }


def _show(summary: dict[str, Any]) -> None:
    console = Console(highlight=False)

    def say(text: str) -> None:
        console.print(text, soft_wrap=True)

    k, rows = summary["n_clusters"], summary["rows"]
    say(f"[bold]{k:,} {'cluster' if k == 1 else 'clusters'}[/] in {escape(summary['file'])}")
    say(f"[dim]rows     [/] {rows:,}")
    say(f"[dim]columns  [/] {escape(', '.join(summary['columns']))}")
    for column in summary["left_out"]:
        say(
            f"[dim]left out [/] {escape(column['name'] or '(no name)')}: {escape(column['reason'])}"
        )
    say(f"[dim]model    [/] {escape(summary['weights'])}")
    if summary["mean_log_likelihood"] is not None:
        say(f"[dim]fit      [/] mean log-likelihood {summary['mean_log_likelihood']:.3f} per row")
    console.print(_cluster_table(summary["clusters"], rows))
    for name in ("labels", "picture"):
        if summary[name] is not None:
            say(f"[dim]{name:<9}[/] {escape(summary[name])}")
    for note in summary["notes"]:
        say(f"[yellow]note     [/] {escape(note)}")


def _cluster_table(clusters: list[dict[str, Any]], rows: int) -> RichTable:
    table = RichTable(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    for name in ("cluster", "size", "share"):
        table.add_column(name, justify="right")
    table.add_column("")
    table.add_column("confidence", justify="right")
    largest = clusters[0]["size"]
    for cluster in clusters:
        bar = "█" * max(1, round(BAR * cluster["size"] / largest))
        table.add_row(
            str(cluster["cluster"]),
            f"{cluster['size']:,}",
            f"{cluster['size'] / rows:.1%}",
            f"[cyan]{bar}[/]",
            f"{cluster['mean_confidence']:.3f}",
        )
    return table
