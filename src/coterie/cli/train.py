"""`coterie train`: the recipe behind a model, followed once more."""

import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from coterie.cli.interruption import INTERRUPTED, LastStep, interrupt
from coterie.cli.invocation import command_line
from coterie.cli.options import shipped_weights
from coterie.cli.refusal import refuse, refusing


class Device(StrEnum):
    """Where to train."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


def train(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PRESET", help="The recipe's name.")],
    sets: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Train on the labelled tables or images of a folder instead of the recipe's sets.",
            show_default=False,
        ),
    ] = None,
    label: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column of these tables with the truth.")
    ] = "label",
    test_sets: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Score on these tables or images, which are not trained on.",
            show_default=False,
        ),
    ] = None,
    start_from: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Go on from a trained model, shipped or in a file: with --sets its network is"
            " taken, otherwise the recipe's must be the same.",
            show_default=False,
            autocompletion=shipped_weights,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on from the checkpoint in the folder; without one, begin."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Default: runs/PRESET.", show_default=False),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Instead of the recipe's number.", show_default=False
        ),
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(metavar="RATE", help="Instead of the recipe's.", show_default=False),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Instead of the recipe's seed.", show_default=False),
    ] = None,
    validate_every: Annotated[
        int, typer.Option(metavar="N", min=0, help="Score fresh sets every N steps; 0: never.")
    ] = 1000,
    device: Annotated[Device, typer.Option(help="Where to train.")] = Device.auto,
    devices: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many devices to train on.")
    ] = 1,
) -> None:
    """Train a model by one of the recipes of the shipped ones, on its sets or on your own."""
    # With several devices every one of them runs this command; the first speaks and keeps the log.
    first = int(os.environ.get("LOCAL_RANK", "0")) == 0
    with refusing():
        from coterie.training.presets import preset
        from coterie.training.trainer import CHECKPOINT, WEIGHTS
        from coterie.training.trainer import train as follow
        from coterie.weights.format import WeightsError

        recipe = preset(name)
        if sets is not None:
            name = f"{name}-{sets.resolve().name}"
            prior = _read_folder(sets, label, say=first, n_max=recipe.prior.n_max)
            recipe = recipe.on_tables(prior, name, start_from or "")
        elif start_from is not None:
            recipe = replace(recipe, start_from=start_from)
        scored_on = recipe.prior
        if test_sets is not None:
            if sets is None:
                raise ValueError("--test-sets goes with --sets")
            width, n_max = recipe.prior.columns, recipe.prior.n_max
            scored_on = _read_folder(test_sets, label, say=first, n_max=n_max, columns=width)
        if learning_rate is not None and not 0 < learning_rate < math.inf:
            raise ValueError(f"--learning-rate must be a number above zero, got {learning_rate}")
    changes: dict[str, Any] = {"steps": steps, "learning_rate": learning_rate, "seed": seed}
    changes = {key: value for key, value in changes.items() if value is not None}
    recipe = replace(recipe, training=replace(recipe.training, **changes))
    folder = Path("runs") / name if out is None else out
    checkpoint, weights = folder / CHECKPOINT, folder / WEIGHTS

    if first:
        _refuse_losing(checkpoint, weights, resume)
        if resume and not checkpoint.exists():
            typer.echo(f"coterie: no checkpoint in {folder}; training begins anew", err=True)
    if device is Device.cuda:
        _require_cuda(devices)
    watchers = _watchers(folder, scored_on, validate_every) if first else ()
    with refusing(WeightsError), LastStep(checkpoint, recipe) as last_step:
        if first and devices == 1:  # several would wait for each other in different steps
            watchers = (*watchers, last_step)
        try:
            follow(
                recipe,
                folder,
                resume=resume,
                callbacks=watchers,
                accelerator=device.value,
                devices=devices,
            )
        except KeyboardInterrupt:
            _end(watchers)
            if not first:
                raise typer.Exit(INTERRUPTED) from None
            interrupt(_after_interruption(checkpoint, context, resume))
    if first:
        console = Console(highlight=False)
        for name, text in (
            ("weights", weights),
            ("log    ", folder / "log.jsonl"),
            ("try    ", f"coterie cluster table.csv --weights {weights}"),
        ):
            console.print(f"[dim]{name}[/] {escape(str(text))}", soft_wrap=True)


def _refuse_losing(checkpoint: Path, weights: Path, resume: bool) -> None:
    """Nothing that took hours is overwritten by accident."""
    if resume and (checkpoint.exists() or not weights.exists()):
        return
    if checkpoint.exists():
        refuse(f"{checkpoint} is there already; add --resume, or give another folder with --out")
    if weights.exists():
        refuse(f"{weights} is there already, without a checkpoint; give another folder with --out")


def _require_cuda(devices: int) -> None:
    import torch

    there = torch.cuda.device_count()
    if there < devices:
        refuse(f"CUDA devices asked for: {devices}; this machine has {there}")


def _read_folder(folder: Path, label: str, *, say: bool, **limits: int) -> Any:
    """The prior of a folder; what its tables needed is said, where somebody is to hear it."""
    from coterie.data.folder import read_folder

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        prior = read_folder(folder, label, **limits)
    for warning in caught if say else ():
        typer.echo(f"coterie: {warning.message}", err=True)
    return prior


def _end(watchers: Sequence[Any]) -> None:
    """Let go of the terminal: a bar that is not stopped hides the cursor."""
    for watcher in watchers:
        if hasattr(watcher, "on_end"):
            watcher.on_end(None)


def _after_interruption(checkpoint: Path, context: typer.Context, resume: bool) -> str:
    if not checkpoint.exists():
        return "interrupted before there was a checkpoint; nothing is kept"
    again = command_line(context) + ("" if resume else " --resume")
    return f"interrupted; {checkpoint} is kept, go on with: {again}"


def _watchers(folder: Path, prior: Any, validate_every: int) -> Sequence[Any]:
    from coterie.training.callbacks import JsonLog, ProgressBar, Validation

    watchers: list[Any] = [JsonLog(folder / "log.jsonl"), ProgressBar(Console(stderr=True))]
    if validate_every:
        watchers.append(Validation(folder / "validation.jsonl", prior, every=validate_every))
    return watchers
