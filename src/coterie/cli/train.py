"""`coterie train`: train a model by a recipe."""

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

from coterie.cli.interruption import INTERRUPTED, LastStep, how, interrupt
from coterie.cli.options import command_line, shipped_weights
from coterie.cli.printable import printable
from coterie.cli.refusal import refuse, refusing


class Device(StrEnum):
    """The device to train on."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


def train(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PRESET", help="Name of the recipe.")],
    sets: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Train on labelled tables or images in a folder instead of the recipe's prior.",
            show_default=False,
        ),
    ] = None,
    label: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column with the true clusters.")
    ] = "label",
    test_sets: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Held-out tables or images for validation.",
            show_default=False,
        ),
    ] = None,
    start_from: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Fine-tune a shipped model or a weights file: with --sets its architecture is"
            " used, otherwise it must match the recipe's.",
            show_default=False,
            autocompletion=shipped_weights,
        ),
    ] = None,
    encoder: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Weights of MoCo, MiCE or another image model, whose encoder is used and kept"
            " fixed.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue from the checkpoint in the folder, if there is one."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Default: runs/PRESET.", show_default=False),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Override the recipe's number of steps.", show_default=False
        ),
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            metavar="RATE", help="Override the recipe's learning rate.", show_default=False
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Override the recipe's seed.", show_default=False),
    ] = None,
    validate_every: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Validate on held-out sets every N steps; 0: never."),
    ] = 1000,
    device: Annotated[Device, typer.Option(help="The device to train on.")] = Device.auto,
    devices: Annotated[int, typer.Option(metavar="N", min=1, help="Number of devices.")] = 1,
) -> None:
    """Train a model with the recipe of a shipped one, on its prior or on your own sets."""
    # With several devices each of them runs this command; only the first prints and logs.
    first = int(os.environ.get("LOCAL_RANK", "0")) == 0
    with refusing():
        from coterie.files.replacing import NO_ROOM
        from coterie.training.image_set_recipes import with_encoder
        from coterie.training.presets import preset
        from coterie.training.trainer import CHECKPOINT, WEIGHTS
        from coterie.training.trainer import train as follow
        from coterie.weights.format import WeightsError

        recipe = preset(name)
        if encoder is not None:
            recipe = with_encoder(recipe, str(encoder))
        if sets is not None:
            name = f"{name}-{sets.resolve().name}"
            prior = _read_folder(sets, label, say=first, n_max=recipe.prior.n_max)
            recipe = recipe.on_tables(prior, name, start_from or "")
        elif start_from is not None:
            recipe = replace(recipe, start_from=start_from)
        scored_on = recipe.prior
        if test_sets is not None:
            if sets is None:
                raise ValueError("--test-sets requires --sets")
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
            typer.echo(
                f"coterie: no checkpoint in {folder}; training starts from scratch", err=True
            )
    if device is Device.cuda:
        _require_cuda(devices)
    with refusing(WeightsError):  # the sets to validate on are drawn, maybe from files
        watchers = _watchers(folder, scored_on, validate_every) if first else ()
    with refusing(WeightsError), LastStep(checkpoint, recipe) as last_step:
        if first and devices == 1:  # several devices would wait for each other in different steps
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
        except KeyboardInterrupt as error:
            _end(watchers)
            if not first:
                raise typer.Exit(INTERRUPTED) from None
            interrupt(error, how(error) + _what_is_kept(checkpoint, context, resume))
        except OSError as error:
            _end(watchers)
            if error.errno not in NO_ROOM or not first:
                raise
            kept = _what_is_kept(checkpoint, context, resume)
            refuse(f"{error.filename}: {error.strerror}; training stopped{kept}")
    if first:
        console = Console(highlight=False)
        for name, text in (
            ("weights", weights),
            ("log    ", folder / "log.jsonl"),
            *(("scores ", each.in_words()) for each in watchers if hasattr(each, "in_words")),
            ("try    ", f"coterie cluster table.csv --weights {weights}"),
        ):
            console.print(f"[dim]{name}[/] {escape(printable(str(text)))}", soft_wrap=True)


def _refuse_losing(checkpoint: Path, weights: Path, resume: bool) -> None:
    """Refuse to overwrite the result of an earlier training."""
    if resume and (checkpoint.exists() or not weights.exists()):
        return
    if checkpoint.exists():
        refuse(f"{checkpoint} already exists; add --resume, or choose another folder with --out")
    if weights.exists():
        refuse(f"{weights} already exists, without a checkpoint; choose another folder with --out")


def _require_cuda(devices: int) -> None:
    import torch

    available = torch.cuda.device_count()
    if available < devices:
        refuse(f"CUDA devices requested: {devices}; available: {available}")


def _read_folder(folder: Path, label: str, *, say: bool, **limits: int) -> Any:
    """The prior of a folder; notes on its tables are printed if requested."""
    from coterie.data.folder import read_folder

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        prior = read_folder(folder, label, **limits)
    for warning in caught if say else ():
        typer.echo(f"coterie: {printable(str(warning.message))}", err=True)
    return prior


def _end(watchers: Sequence[Any]) -> None:
    """Stop the progress bar, which would otherwise hide the cursor."""
    for watcher in watchers:
        if hasattr(watcher, "on_end"):
            watcher.on_end(None)


def _what_is_kept(checkpoint: Path, context: typer.Context, resume: bool) -> str:
    """What is there and how to go on, after the word for what happened."""
    if not checkpoint.exists():
        return " before the first checkpoint; nothing was saved"
    again = command_line(context) + ("" if resume else " --resume")
    return f"; saved {checkpoint}, continue with: {again}"


def _watchers(folder: Path, prior: Any, validate_every: int) -> Sequence[Any]:
    from coterie.training.callbacks import JsonLog, Validation
    from coterie.training.progress import ProgressBar, ProgressLines

    console = Console(stderr=True, highlight=False)

    def say(line: str) -> None:
        console.print(escape(line), soft_wrap=True)

    shown = ProgressBar(console) if console.is_terminal else ProgressLines(say)
    watchers: list[Any] = [JsonLog(folder / "log.jsonl"), shown]
    if validate_every:
        scores = Validation(folder / "validation.jsonl", prior, every=validate_every, say=say)
        watchers.append(scores)
    return watchers
