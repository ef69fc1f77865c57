"""`coterie models`: list the shipped models."""

import json
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from coterie.cli.refusal import refusing


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
            _columns(row),
            f"{row['parameters']:,}",
            f"{row['bytes'] / 1e6:.1f} MB",
            escape(row["trained_on"]),
        )
    Console(highlight=False).print(table)


def _columns(row: dict[str, Any]) -> str:
    """The columns of a table, or the size of images, as in 28x28."""
    if row["images"] is None:
        return str(row["columns"])
    channels, height, width = row["images"]
    return f"{height}x{width}" + (f"x{channels}" if channels > 1 else "")


def _rows() -> list[dict[str, Any]]:
    from coterie.weights.catalogue import models, n_parameters

    return [
        {
            "name": model.name,
            "system": model.card.system,
            "columns": None if traits.reads_images else traits.columns,
            "images": list(traits.item_shape) if traits.reads_images else None,
            "parameters": n_parameters(model.path),
            "bytes": model.size,
            "trained_on": model.card.trained_on,
            "path": str(model.path),
        }
        for model in models()
        for traits in [model.card.traits]
    ]
