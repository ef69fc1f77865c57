"""`coterie tune`: search for the hyper-parameters of a recipe."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from coterie.cli.interruption import how, interrupt
from coterie.cli.refusal import refusing
from coterie.cli.train import Device


def tune(
    name: Annotated[str, typer.Argument(metavar="PRESET", help="Name of an AMCP recipe.")],
    trials: Annotated[int, typer.Option(metavar="N", min=1, help="Total number of trials.")] = 200,
    steps: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Training steps per trial.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Default: runs/tune-PRESET.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Random seed of the search.")] = 0,
    device: Annotated[Device, typer.Option(help="The device to train on.")] = Device.auto,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Search for hyper-parameters by TPE; run the same command again to resume."""
    folder = Path("runs") / f"tune-{name}" if out is None else out
    console = Console(stderr=True, highlight=False)
    with refusing():
        from coterie.training.presets import preset
        from coterie.training.tuning import search

        recipe = preset(name)
        if steps is not None:
            recipe = replace(recipe, training=replace(recipe.training, steps=steps))
        try:
            best = search(
                recipe,
                folder,
                n_trials=trials,
                seed=seed,
                accelerator=device.value,
                say=lambda line: console.print(line, soft_wrap=True),
            )
        except KeyboardInterrupt as error:
            interrupt(error, f"{how(error)}; finished trials are kept in {folder / 'trials.db'}")
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), **best._asdict()}))
        return
    typer.echo(f"best of {best.n_trials} trials: ARI {best.score:.3f}")
    for key, value in best.settings.items():
        typer.echo(f"  {key} = {value:.4g}")
