"""`coterie models`: list the shipped models."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from coterie.cli.refusal import refusing

if TYPE_CHECKING:
    from coterie.systems.traits import Traits


def models(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List the trained models that ship with the package."""
    with refusing():
        rows = _rows()
    if as_json:
        typer.echo(json.dumps(rows))
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    table.add_column("model", style="bold", no_wrap=True)
    table.add_column("system")
    for name in ("columns", "parameters", "size"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("trained on")
    for row in rows:
        table.add_row(
            escape(row["name"]),
            escape(row["system"]),
            str(row["columns"]),
            f"{row['parameters']:,}",
            f"{row['bytes'] / 1e6:.1f} MB",
            escape(row["trained_on"]),
        )
    Console(highlight=False).print(table)


def _rows() -> list[dict[str, Any]]:
    from coterie.weights.catalogue import models, n_parameters

    return [
        {
            "name": model.name,
            "system": model.card.system,
            "columns": _columns(model.card.traits),
            "parameters": n_parameters(model.path),
            "bytes": model.size,
            "trained_on": model.card.trained_on,
            "path": str(model.path),
        }
        for model in models()
    ]


def _columns(traits: "Traits") -> int | str:
    """How many columns a model reads, or the shape of its images."""
    return "x".join(map(str, traits.item_shape)) if traits.reads_images else traits.columns
