"""Trainings in pieces of some minutes, each of which goes on from the checkpoint of the last."""

import json
import shutil
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from coterie.cli.interruption import Ended, LastStep, ending_in_words
from coterie.training.callbacks import Checkpoints, JsonLog, Progress
from coterie.training.recipe import Recipe
from coterie.training.trainer import CHECKPOINT, WEIGHTS, train
from coterie.weights.format import (
    FORMAT_VERSION,
    load_card,
    load_system,
    load_tensors,
    save_tensors,
)

BEGAN = time.monotonic()
SHIPPED = "shipped.safetensors"
LOG, SCORES = "log.jsonl", "scores.jsonl"


class OutOfTime(Exception):
    """The minutes are over; the checkpoint is written."""


class Pace:
    """Prints speed and loss now and then; ends the run with a checkpoint when its time is over."""

    def __init__(self, minutes: float, checkpoints: Checkpoints, every: int = 200) -> None:
        self.seconds, self.checkpoints, self.every = 60 * minutes, checkpoints, every
        self.last: float | None = None
        self.losses: list[Tensor] = []

    def on_step(self, progress: Progress) -> None:
        self.losses.append(progress.loss)
        if progress.step % 20:
            return
        float(progress.loss)  # wait for the device: otherwise steps are counted before they run
        now = time.monotonic()
        if progress.step % self.every == 0:
            loss = float(torch.stack(self.losses).mean())
            line = {"step": progress.step, "of": progress.steps, "loss": round(loss, 4)}
            if self.last is not None:
                line["steps_per_second"] = round(self.every / (now - self.last), 2)
            say(json.dumps({**line, "seconds": round(now - BEGAN, 1)}))
            self.last, self.losses = now, []
        if now - BEGAN > self.seconds and progress.step < progress.steps:
            self.checkpoints.save(progress)
            raise OutOfTime(progress.step)


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def add_options(parser: ArgumentParser) -> None:
    """The options that every such training has."""
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--score-every", type=int, default=4000, metavar="STEPS")
    parser.add_argument("--results", type=Path, help="a folder for scores and shipped weights")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=JSON", help="settings")
    parser.add_argument("--source", nargs="*", default=[], metavar="NAME=JSON", help="of the sets")
    parser.add_argument("--train", nargs="*", default=[], metavar="NAME=JSON", help="of training")
    parser.add_argument("--device", default="auto")


def changed(recipe: Recipe, arguments: Namespace) -> Recipe:
    """The recipe with what the command line changes."""
    training = changes(arguments.train)
    if arguments.steps is not None:
        training["steps"] = arguments.steps
    return replace(
        recipe,
        settings={**recipe.settings, **changes(arguments.set)},
        prior=replace(recipe.prior, **changes(arguments.source)),
        training=replace(recipe.training, **training),
    )


def changes(pairs: Sequence[str]) -> dict[str, Any]:
    """Settings from NAME=JSON pairs."""
    return {name: json.loads(value) for name, value in (pair.split("=", 1) for pair in pairs)}


def train_in_pieces(recipe: Recipe, arguments: Namespace, callbacks: Sequence[Any]) -> bool:
    """Train for the minutes given, or to the end; whether the end was reached.

    The checkpoint in --out is gone on from. At the end the weights are also written in half
    precision; what the log, the scores and these are goes to --results, whatever happened.
    """
    out, results = arguments.out, arguments.results
    checkpoint = out / CHECKPOINT
    with ending_in_words(), LastStep(checkpoint, recipe) as last_step:
        watchers = [
            JsonLog(out / LOG),
            Pace(arguments.minutes, Checkpoints(checkpoint, recipe)),
            *callbacks,
            last_step,
        ]
        try:
            train(recipe, out, resume=True, accelerator=arguments.device, callbacks=watchers)
            ship(out / WEIGHTS, out / SHIPPED)
            say("finished")
            return True
        except OutOfTime as over:
            say(f"out of time after step {over} of {recipe.training.steps}")
        except (Ended, KeyboardInterrupt):
            say("asked to end; the checkpoint is written")
        finally:
            if results:
                results.mkdir(parents=True, exist_ok=True)
                for name in (SCORES, LOG, SHIPPED):
                    if (out / name).exists():
                        shutil.copy(out / name, results / f"{recipe.name}.{name}")
            say(f"seconds in all: {time.monotonic() - BEGAN:.0f}")
    return False


def ship(weights: Path, shipped: Path) -> None:
    """The weights in half precision, which the network reads as float32."""
    tensors, _ = load_tensors(weights)
    halves = {
        name: tensor.half() if tensor.is_floating_point() else tensor
        for name, tensor in tensors.items()
    }
    card = asdict(load_card(weights))
    save_tensors(shipped, halves, {"version": FORMAT_VERSION, "card": card})
    load_system(shipped)
