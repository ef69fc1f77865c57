"""The `coterie` command and its subcommands."""

from typing import Annotated

import typer

from coterie import __version__
from coterie.cli.cluster import cluster
from coterie.cli.compare import compare
from coterie.cli.export import export
from coterie.cli.models import models
from coterie.cli.predict import predict
from coterie.cli.refusal import OneLineGroup, refuse
from coterie.cli.serve import serve
from coterie.cli.train import train
from coterie.cli.tune import tune

app = typer.Typer(
    cls=OneLineGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: coterie cluster table.csv --report report.html",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"coterie {__version__}")
        raise typer.Exit


@app.callback()
def coterie(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Clustering as a forward pass: no number of clusters to choose."""


app.command(epilog="Example: coterie cluster table.csv --out labels.csv --report report.html")(
    cluster
)
app.command(epilog="Example: coterie predict february.csv --model january.coterie --out out.csv")(
    predict
)
app.command(epilog="Example: coterie compare table.csv --label species")(compare)
app.command(epilog="Example: coterie train dac-mog2d --out runs/mine --device cuda")(train)
app.command(epilog="Example: coterie tune amcp-small --trials 20 --steps 300")(tune)
app.command(epilog="Example: coterie models --json")(models)
app.command(epilog="Example: coterie serve --port 8080 --open")(serve)
app.add_typer(export, name="export")


@app.command(
    hidden=True, context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
)
def bench(context: typer.Context) -> None:
    """Moved to the source repository: python benchmarks."""
    again = " ".join(["python benchmarks", *context.args])
    refuse(f"the benchmarks are part of the source repository; run there: {again}")
