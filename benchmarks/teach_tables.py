"""Go on training the universal models on tables, for as long as there is time; export the weights.

The learning rate falls along a cosine of the time that is spent, so a run ends where it should on
a machine of any speed. A run in several pieces says in each how much was spent before. A piece that
has reached its end keeps a checkpoint, from which the next goes on.

    COTERIE_DATA=... python benchmarks/teach_tables.py train large runs/large \\
        --seconds 540 --before 0 --total 1080 --device cuda
    python benchmarks/teach_tables.py export large runs/large/checkpoint.safetensors \\
        large.safetensors --kept 0.25
"""

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from bench.recipes.universal import STUDY_NO_EPISODES
from coterie.ood.texture import texture_limits
from coterie.systems.registry import build
from coterie.training.callbacks import Checkpoints, JsonLog, Progress, Schedule
from coterie.training.recipe import Recipe, TrainingConfig
from coterie.training.trainer import CHECKPOINT, train
from coterie.training.universal import AMCP_UNIVERSAL_SMALL_TABLES, AMCP_UNIVERSAL_TABLES
from coterie.weights.catalogue import find
from coterie.weights.format import load_card, load_system, load_tensors, make_card, save_system

BEGAN = float(os.environ.get("BEGAN", time.time()))  # of the piece, in seconds since 1970
RECIPES = {
    "large": AMCP_UNIVERSAL_TABLES,
    "small": AMCP_UNIVERSAL_SMALL_TABLES,
    "no-episodes": STUDY_NO_EPISODES,
}
ENDLESS = 1_000_000  # steps: time ends the run
STATE = "system."


class OutOfTime(Exception):
    """The piece of training has reached its end, and its checkpoint is written."""


class Timed(Schedule):
    """The schedule of a recipe with time in the place of steps; it also ends the piece."""

    def __init__(self, recipe: Recipe, folder: Path, clock: argparse.Namespace) -> None:
        super().__init__(replace(recipe.training, steps=ENDLESS))
        self.recipe, self.folder, self.clock = recipe, folder, clock

    def rate(self, step: int) -> float:
        """The learning rate after the time that is spent, with a warm-up in steps."""
        if step < self.config.warmup:
            return super().rate(step)
        spent = (self.clock.before + time.time() - BEGAN) / self.clock.total
        as_if = self.config.warmup + round(spent * (ENDLESS - self.config.warmup))
        return super().rate(min(as_if, ENDLESS))

    def on_step(self, progress: Progress) -> None:
        """Keep the state and leave once the time is over."""
        if time.time() - BEGAN < self.clock.seconds:
            return
        Checkpoints(self.folder / CHECKPOINT, self.recipe).save(progress)
        print(f"{self.recipe.name}: {progress.step} steps, loss {float(progress.loss):.4f}")
        raise OutOfTime


def run(arguments: argparse.Namespace) -> None:
    """Train a recipe until the time of this piece is over, from its checkpoint where there is one.

    Its number of steps is without end, so that a piece never finds that it is done.
    """
    # Batches of several priors have several shapes: a kernel for each, none for all of them.
    torch._dynamo.config.automatic_dynamic_shapes = False
    torch._dynamo.config.recompile_limit = 64
    recipe = endless(RECIPES[arguments.recipe], arguments)
    watchers: list[Any] = [
        JsonLog(arguments.folder / "log.jsonl", every=arguments.log_every),
        Timed(recipe, arguments.folder, arguments),
    ]
    try:
        train(
            recipe,
            arguments.folder,
            resume=True,
            callbacks=watchers,
            accelerator=arguments.device,
        )
    except OutOfTime:
        return


def endless(recipe: Recipe, arguments: argparse.Namespace) -> Recipe:
    """The recipe without an end, with fewer sets a step or plainer where that is asked for."""
    training: TrainingConfig = replace(recipe.training, steps=ENDLESS, checkpoint_every=500)
    if arguments.sets:
        training = replace(training, sets_per_step=arguments.sets)
    if arguments.plain:
        training = replace(training, capture=False, compile=arguments.plain < 2)
    return replace(recipe, training=training)


def export(arguments: argparse.Namespace) -> None:
    """Write the weights of a checkpoint with their card, a mean with those that came before.

    Texture and temperature are those of before, unless the texture is measured again: minutes.
    """
    recipe = RECIPES[arguments.recipe]
    tensors, header = load_tensors(arguments.checkpoint)
    system = build(recipe.system, recipe.settings)
    system.load_state_dict(
        {name.removeprefix(STATE): value for name, value in tensors.items() if STATE in name[:7]}
    )
    before = load_system(find(recipe.start_from))[0].state_dict()
    with torch.no_grad():
        for name, weight in system.named_parameters():
            weight.lerp_(before[name], arguments.kept)
    earlier = load_card(find(recipe.start_from))
    taken = replace(
        recipe,
        training=replace(recipe.training, steps=header["step"]),
        kept=arguments.kept,
    )
    card = make_card(
        system,
        trained_on=recipe.trained_on,
        frame=recipe.frame,
        context_size=recipe.context_size,
        texture=texture_limits(recipe.prior) if arguments.texture else earlier.texture,
        temperature=earlier.temperature,
        recipe=taken.describe(),
    )
    save_system(arguments.weights, system, card)
    print(f"{arguments.weights}: {header['step']} steps, {arguments.kept:.0%} of before")


def main() -> None:
    """Train or export, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    piece = commands.add_parser("train")
    piece.add_argument("recipe", choices=RECIPES)
    piece.add_argument("folder", type=Path)
    piece.add_argument("--seconds", type=float, required=True, help="of this piece")
    piece.add_argument("--before", type=float, default=0.0, help="seconds of earlier pieces")
    piece.add_argument("--total", type=float, required=True, help="seconds of all pieces")
    piece.add_argument("--device", default="auto")
    piece.add_argument("--sets", type=int, default=0, help="a step, instead of the recipe's")
    piece.add_argument(
        "-p", "--plain", action="count", default=0, help="record no CUDA graph; -pp: nor compile"
    )
    piece.add_argument("--log-every", type=int, default=50, help="steps")
    piece.set_defaults(follow=run)
    weights = commands.add_parser("export")
    weights.add_argument("recipe", choices=RECIPES)
    weights.add_argument("checkpoint", type=Path)
    weights.add_argument("weights", type=Path)
    weights.add_argument("--kept", type=float, default=0.0, help="share of the weights before")
    weights.add_argument("--texture", action="store_true", help="measure the texture limits")
    weights.set_defaults(follow=export)
    arguments = parser.parse_args()
    arguments.follow(arguments)


if __name__ == "__main__":
    main()
