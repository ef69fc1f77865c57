"""Train MiCE or MoCo on a public image collection, in pieces of a given number of minutes.

    COTERIE_DATA=... python benchmarks/train_collection.py mice-mnist --out runs/mice-mnist
    COTERIE_DATA=... python benchmarks/train_collection.py mice-cifar10 --out runs/mice-cifar10 \
        --minutes 9 --pieces runs/pieces

The same command again goes on where the last one ended: from the checkpoint in --out, or, where
there is none, from the pieces in --pieces. Scores along the way are in OUT/scores.jsonl.
"""

import argparse
import json
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

from coterie.data.collections import open_collection
from coterie.systems.mice.mice import MiCE
from coterie.systems.mice.ordering import reordered
from coterie.training.callbacks import Checkpoints, JsonLog
from coterie.training.collection_outputs import read_collection
from coterie.training.collection_scores import (
    CollectionScores,
    collection_scores,
)
from coterie.training.image_recipes import IMAGE_RECIPES
from coterie.training.pieces import find_pieces, join_pieces, write_pieces
from coterie.training.trainer import CHECKPOINT, WEIGHTS, train
from coterie.weights.compact import save_compact
from coterie.weights.format import load_card, load_system

BEGAN = time.monotonic()
SHIPPED = "shipped.safetensors"


class OutOfTime(Exception):
    """The minutes are over; the checkpoint is written."""


class Budget:
    """Ends a run with a checkpoint once its minutes are over, counted from the command's start."""

    def __init__(self, minutes, checkpoints):
        self.seconds, self.checkpoints = 60 * minutes, checkpoints

    def on_step(self, progress):
        if progress.step % 20 or progress.step == progress.steps:
            return
        float(progress.loss)  # wait for the device: otherwise steps are counted before they run
        if time.monotonic() - BEGAN > self.seconds:
            self.checkpoints.save(progress)
            raise OutOfTime(progress.step)


class Pace:
    """Prints the speed now and then."""

    def __init__(self, batch, every):
        self.batch, self.every, self.last = batch, every, None

    def on_step(self, progress):
        if progress.step % self.every:
            return
        loss, now = float(progress.loss), time.monotonic()
        if self.last is not None:
            speed = self.every * self.batch / (now - self.last)
            line = {"step": progress.step, "of": progress.steps, "loss": round(loss, 4)}
            print(json.dumps({**line, "images_per_second": round(speed)}), flush=True)
        self.last = now


def read_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe", choices=sorted(IMAGE_RECIPES))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--backbone", help="for CIFAR-10: resnet18 or resnet34")
    parser.add_argument(
        "--cosine", action="store_true", default=None, help="for CIFAR-10: a cosine of the rate"
    )
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--score-every", type=int, default=50, metavar="EPOCHS")
    parser.add_argument("--pieces", type=Path, help="a folder for the state in half precision")
    parser.add_argument("--results", type=Path, help="a folder for scores and shipped weights")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=JSON", help="settings")
    parser.add_argument("--views", nargs="*", default=[], metavar="NAME=JSON", help="of the views")
    parser.add_argument("--train", nargs="*", default=[], metavar="NAME=JSON", help="of training")
    parser.add_argument("--images", type=int, help="only the first so many")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--device", default="auto")
    return parser.parse_args()


def changes(pairs):
    """Settings from NAME=JSON pairs."""
    return {name: json.loads(value) for name, value in (pair.split("=", 1) for pair in pairs)}


def make_recipe(arguments):
    """The recipe with what the command line changes."""
    asked = {
        "epochs": arguments.epochs,
        "backbone": arguments.backbone,
        "cosine": arguments.cosine,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    sizes = {"n_images": arguments.images, "batch": arguments.batch}
    source = {name: value for name, value in sizes.items() if value is not None}
    recipe = IMAGE_RECIPES[arguments.recipe](
        source=source, views=changes(arguments.views), **given, **changes(arguments.train)
    )
    return replace(recipe, settings={**recipe.settings, **changes(arguments.set)})


def ship(folder, recipe):
    """Weights for inference alone, with clusters by falling size, and scores of both files."""
    system, _ = load_system(folder / WEIGHTS)
    if not isinstance(system, MiCE):
        return
    device = "cuda" if torch.cuda.is_available() else "cpu"
    collection = open_collection(recipe.prior.name)
    images = torch.from_numpy(collection.images[: recipe.prior.n_images])
    found = read_collection(system.to(device), images)["posterior"].argmax(1)
    sizes = found.bincount(minlength=system.config.n_clusters)
    ordered = reordered(system, sizes.argsort(descending=True, stable=True).tolist())
    save_compact(
        folder / SHIPPED,
        ordered,
        trained_on=recipe.trained_on,
        provenance={"recipe": recipe.describe()},
    )
    for name in (WEIGHTS, SHIPPED):
        load_card(folder / name)
        opened = load_system(folder / name)[0].to(device)
        scores = collection_scores(opened, collection, recipe.prior.n_images)
        print(json.dumps({"file": name, **scores}), flush=True)


def main():
    """Train, score and ship."""
    arguments = read_arguments()
    recipe = make_recipe(arguments)
    out = arguments.out
    checkpoint = out / CHECKPOINT
    if not checkpoint.exists() and arguments.pieces and find_pieces(arguments.pieces):
        step = join_pieces(find_pieces(arguments.pieces), checkpoint, recipe)
        print(json.dumps({"joined_pieces_at_step": step}), flush=True)
    pace = recipe.steps_per_epoch
    callbacks = [
        CollectionScores(out / "scores.jsonl", recipe, every=arguments.score_every),
        JsonLog(out / "log.jsonl", every=pace),
        Pace(recipe.prior.batch, every=max(20, pace * 10 // 20 * 20)),
        Budget(arguments.minutes, Checkpoints(checkpoint, recipe)),
    ]
    try:
        train(recipe, out, resume=True, accelerator=arguments.device, callbacks=callbacks)
        ship(out, recipe)
        print("finished", flush=True)
    except OutOfTime as over:
        print(f"out of time after step {over} of {recipe.training.steps}", flush=True)
    finally:
        if arguments.pieces and checkpoint.exists():
            write_pieces(checkpoint, arguments.pieces)
        if arguments.results:
            arguments.results.mkdir(parents=True, exist_ok=True)
            for name in ("scores.jsonl", SHIPPED):
                if (out / name).exists():
                    shutil.copy(out / name, arguments.results / f"{recipe.name}.{name}")
    print(f"seconds in all: {time.monotonic() - BEGAN:.0f}", file=sys.stderr)


if __name__ == "__main__":
    main()
