"""`coterie train`: the recipe behind a model, followed once more."""

import os
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from coterie.cli.refusal import refuse, refusing


class Device(StrEnum):
    """Where to train."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


def train(
    name: Annotated[str, typer.Argument(metavar="PRESET", help="The recipe's name.")],
    sets: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Train on the labelled tables of a folder instead of the recipe's sets.",
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
            help="Score on these tables, which are not trained on.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from the checkpoint in the folder, if there is one."),
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
    with refusing():
        from coterie.data.folder import read_folder
        from coterie.training.presets import preset
        from coterie.training.trainer import CHECKPOINT, WEIGHTS
        from coterie.training.trainer import train as follow
        from coterie.weights.format import WeightsError

        recipe = preset(name)
        if sets is not None:
            name = f"{name}-{sets.resolve().name}"
            recipe = recipe.on_tables(read_folder(sets, label, n_max=recipe.prior.n_max), name)
        scored_on = recipe.prior
        if test_sets is not None:
            if sets is None:
                raise ValueError("--test-sets goes with --sets")
            width, n_max = recipe.prior.columns, recipe.prior.n_max
            scored_on = read_folder(test_sets, label, n_max=n_max, columns=width)
    changes: dict[str, Any] = {"steps": steps, "seed": seed}
    changes = {key: value for key, value in changes.items() if value is not None}
    recipe = replace(recipe, training=replace(recipe.training, **changes))
    folder = Path("runs") / name if out is None else out
    checkpoint, weights = folder / CHECKPOINT, folder / WEIGHTS

    # With several devices every one of them runs this command; the first speaks and keeps the log.
    first = int(os.environ.get("LOCAL_RANK", "0")) == 0
    if first:
        _refuse_losing(checkpoint, weights, resume)
    if device is Device.cuda:
        _require_cuda(devices)
    with refusing(WeightsError):
        follow(
            recipe,
            folder,
            resume=resume,
            callbacks=_watchers(folder, scored_on, validate_every) if first else (),
            accelerator=device.value,
            devices=devices,
        )
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


def _watchers(folder: Path, prior: Any, validate_every: int) -> list[Any]:
    from coterie.training.callbacks import JsonLog, ProgressBar, Validation

    watchers: list[Any] = [JsonLog(folder / "log.jsonl"), ProgressBar(Console(stderr=True))]
    if validate_every:
        watchers.append(Validation(folder / "validation.jsonl", prior, every=validate_every))
    return watchers
