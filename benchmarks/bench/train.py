"""`python benchmarks train`: train the network of a study."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from coterie.cli.refusal import refusing

RUNS = Path("runs")


def train(
    name: Annotated[str, typer.Argument(metavar="RECIPE", help="A recipe of bench/recipes.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Default: runs/RECIPE.", show_default=False),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Default: the recipe's.", show_default=False),
    ] = None,
    validate_every: Annotated[
        int, typer.Option(metavar="N", min=0, help="Score fresh sets every N steps; 0: never.")
    ] = 1000,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the checkpoint in the folder.")
    ] = False,
    device: Annotated[
        str, typer.Option(metavar="auto|cpu|cuda", help="The device to train on.")
    ] = "auto",
) -> None:
    """Train the network of a study; `coterie train` has the recipes of the shipped models."""
    with refusing():
        from bench.recipes.catalogue import study_recipe
        from coterie.training.callbacks import JsonLog, Validation
        from coterie.training.progress import ProgressBar
        from coterie.training.trainer import WEIGHTS
        from coterie.training.trainer import train as follow

        recipe = study_recipe(name)
        folder = RUNS / name if out is None else out
        if (folder / WEIGHTS).exists() and not resume:
            raise ValueError(f"{folder / WEIGHTS} exists; choose another folder with --out")
    if steps is not None:
        recipe = replace(recipe, training=replace(recipe.training, steps=steps))
    callbacks: list[object] = [JsonLog(folder / "log.jsonl"), ProgressBar(Console(stderr=True))]
    if validate_every:
        target = folder / "validation.jsonl"
        callbacks.append(Validation(target, recipe.prior, every=validate_every))
    follow(recipe, folder, resume=resume, callbacks=callbacks, accelerator=device)
    console = Console(highlight=False)
    console.print(f"[dim]weights[/] {escape(str(folder / WEIGHTS))}", soft_wrap=True)
