"""`coterie export`: trained networks for other runtimes."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from coterie.cli.options import shipped_weights
from coterie.cli.refusal import refusing

export = typer.Typer(no_args_is_help=True, epilog="Example: coterie export onnx amcp-mog2d")


@export.callback()
def _formats() -> None:
    """Write a trained network for another runtime."""


@export.command(epilog="Example: coterie export onnx amcp-universal --out model")
def onnx(
    weights: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A shipped model of AMCP or ACT-ST, or a weights file.",
            autocompletion=shipped_weights,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Default: NAME-onnx.", show_default=False),
    ] = None,
) -> None:
    """Write encoder.onnx and step.onnx of AMCP, or mixture.onnx of ACT-ST, for any size."""
    with refusing():
        import onnxscript  # noqa: F401  (a clearer error than torch's later one)

        from coterie.export.onnx import export_onnx

        folder = Path(f"{Path(weights).stem}-onnx") if out is None else out
        written = export_onnx(weights, folder)
    console = Console(highlight=False)
    for name, path in written._asdict().items():
        console.print(f"[dim]{name:<8}[/] {escape(str(path))}", soft_wrap=True)
