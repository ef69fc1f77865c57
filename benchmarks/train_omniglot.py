"""Train DAC with anchored filtering on Omniglot, in pieces of a given number of minutes.

    COTERIE_DATA=... python benchmarks/train_omniglot.py --out runs/dac-omniglot
    COTERIE_DATA=... python benchmarks/train_omniglot.py --study --out runs/study --minutes 8

The same command again goes on from the checkpoint in --out; SIGTERM ends it with one. --study
leaves out five background alphabets and prints the scores on them; otherwise the scores along the
way are on alphabets that the network is trained on. At the end the weights are written in half
precision to OUT/shipped.safetensors. No drawing of an evaluation alphabet is ever read.
"""

import argparse
import json
import shutil
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import torch

from coterie.cli.interruption import Ended, LastStep, ending_in_words
from coterie.data.pools import open_pool
from coterie.training.callbacks import Checkpoints, JsonLog
from coterie.training.episode_recipes import (
    DAC_OMNIGLOT,
    DAC_OMNIGLOT_STUDY,
    HELD_OUT_ALPHABETS,
)
from coterie.training.group_scores import GroupScores
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


class OutOfTime(Exception):
    """The minutes are over; the checkpoint is written."""


class Pace:
    """Prints speed and loss now and then; ends the run with a checkpoint when its time is over."""

    def __init__(self, minutes, checkpoints, every=200):
        self.seconds, self.checkpoints, self.every = 60 * minutes, checkpoints, every
        self.last, self.losses = None, []

    def on_step(self, progress):
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
            print(json.dumps({**line, "seconds": round(now - BEGAN, 1)}), flush=True)
            self.last, self.losses = now, []
        if now - BEGAN > self.seconds and progress.step < progress.steps:
            self.checkpoints.save(progress)
            raise OutOfTime(progress.step)


def read_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--study", action="store_true")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--score-every", type=int, default=4000, metavar="STEPS")
    parser.add_argument("--results", type=Path, help="a folder for scores and shipped weights")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=JSON", help="settings")
    parser.add_argument("--source", nargs="*", default=[], metavar="NAME=JSON", help="of the sets")
    parser.add_argument("--train", nargs="*", default=[], metavar="NAME=JSON", help="of training")
    parser.add_argument("--device", default="auto")
    return parser.parse_args()


def changes(pairs):
    """Settings from NAME=JSON pairs."""
    return {name: json.loads(value) for name, value in (pair.split("=", 1) for pair in pairs)}


def make_recipe(arguments):
    """The recipe with what the command line changes."""
    recipe = DAC_OMNIGLOT_STUDY if arguments.study else DAC_OMNIGLOT
    training = changes(arguments.train)
    if arguments.steps is not None:
        training["steps"] = arguments.steps
    return replace(
        recipe,
        settings={**recipe.settings, **changes(arguments.set)},
        prior=replace(recipe.prior, **changes(arguments.source)),
        training=replace(recipe.training, **training),
    )


def ship(weights, shipped):
    """The weights in half precision, which the network reads as float32."""
    tensors, _ = load_tensors(weights)
    halves = {
        name: tensor.half() if tensor.is_floating_point() else tensor
        for name, tensor in tensors.items()
    }
    card = asdict(load_card(weights))
    save_tensors(shipped, halves, {"version": FORMAT_VERSION, "card": card})
    load_system(shipped)


def main():
    """Train, score and ship."""
    arguments = read_arguments()
    recipe, out = make_recipe(arguments), arguments.out
    checkpoint = out / CHECKPOINT
    # Those that the network has not seen in a study; they are part of the training otherwise.
    alphabets = open_pool(recipe.prior.pool).only(HELD_OUT_ALPHABETS)

    def say(line):
        print(line, flush=True)

    with ending_in_words(), LastStep(checkpoint, recipe) as last_step:
        callbacks = [
            JsonLog(out / "log.jsonl"),
            Pace(arguments.minutes, Checkpoints(checkpoint, recipe)),
            GroupScores(out / "scores.jsonl", alphabets, every=arguments.score_every, say=say),
            last_step,
        ]
        try:
            train(recipe, out, resume=True, accelerator=arguments.device, callbacks=callbacks)
            ship(out / WEIGHTS, out / SHIPPED)
            say("finished")
        except OutOfTime as over:
            say(f"out of time after step {over} of {recipe.training.steps}")
        except (Ended, KeyboardInterrupt):
            say("asked to end; the checkpoint is written")
        finally:
            if arguments.results:
                arguments.results.mkdir(parents=True, exist_ok=True)
                for name in ("scores.jsonl", "log.jsonl", SHIPPED):
                    if (out / name).exists():
                        shutil.copy(out / name, arguments.results / f"{recipe.name}.{name}")
    print(f"seconds in all: {time.monotonic() - BEGAN:.0f}", file=sys.stderr)


if __name__ == "__main__":
    main()
