"""Images per second of MoCo and MiCE on a GPU: the trainer's step against what bounds it.

    COTERIE_DATA=... python benchmarks/collection_speed.py

For each recipe: the captured step of the one trainer; the forward and backward pass of the student
alone, compiled and captured too, on a batch that never changes; and a plain loop in float32,
contiguous, eager, with views drawn image by image on the host by the same functions. It needs a
CUDA device and takes four minutes.
"""

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch

from coterie.data.batch import SetBatch
from coterie.data.collections import open_collection
from coterie.systems.amcp.recording import Recorded
from coterie.systems.registry import build
from coterie.training.image_recipes import IMAGE_RECIPES
from coterie.training.optimizers import make_optimizers
from coterie.training.trainer import train

WARM_UP, MEASURED = 40, 120


class Clock:
    """Reads the time after the warm-up and at the end of a run."""

    def __init__(self):
        self.times = {}

    def on_step(self, progress):
        if progress.step in (WARM_UP, WARM_UP + MEASURED):
            torch.cuda.synchronize()
            self.times[progress.step] = time.perf_counter()

    @property
    def seconds(self):
        return (self.times[WARM_UP + MEASURED] - self.times[WARM_UP]) / MEASURED


def trainer_step(recipe):
    """The seconds of a step in the trainer."""
    clock = Clock()
    steps = WARM_UP + MEASURED + 1  # the last one writes a checkpoint
    short = replace(recipe.training, steps=steps, checkpoint_every=10**9)
    with tempfile.TemporaryDirectory() as folder:
        train(replace(recipe, training=short), Path(folder), accelerator="gpu", callbacks=[clock])
    return clock.seconds


def timed(call, n_calls=60):
    """The mean seconds of a call on the GPU."""
    for _ in range(20):
        call()
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(n_calls):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / n_calls


def passes_alone(recipe):
    """Forward and backward of as many student views as a step has, nothing else."""
    system = build(recipe.system, recipe.settings).cuda().train()
    images = open_collection(recipe.prior.name).images[: recipe.prior.batch]
    once = torch.from_numpy(images).cuda().float() / 255
    views = once.repeat(recipe.prior.n_views - 1, 1, 1, 1)
    features = torch.compile(system.student_features)

    def call():
        system.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            found = features(views)
        found.square().mean().backward()

    with torch.backends.cudnn.flags(enabled=True, benchmark=True):
        return timed(Recorded(call).replay)  # captured, as the trainer's step is


def plain_loop(recipe):
    """As one would write it first: every image drawn on the host, one by one, float32, eager."""
    system = build(recipe.system, recipe.settings).cuda().train()
    (optimizer,) = make_optimizers(system, recipe.training)
    images = torch.from_numpy(open_collection(recipe.prior.name).images[:10_000])
    generator, batch = torch.Generator().manual_seed(0), recipe.prior.batch

    def call():
        chosen = torch.randperm(len(images), generator=generator)[:batch]
        views = torch.stack(
            [
                recipe.prior.views(
                    images[i : i + 1].expand(recipe.prior.n_views, -1, -1, -1) / 255, generator
                )
                for i in chosen.tolist()
            ]
        )
        mask = torch.ones(1, batch, dtype=torch.bool, device="cuda")
        learnt = system.loss(SetBatch(views[None].cuda(), mask))
        optimizer.zero_grad()
        learnt.loss.backward()
        optimizer.step()
        system.after_step(100, learnt.kept)
        learnt.loss.item()

    for _ in range(3):
        call()
    began = time.perf_counter()
    for _ in range(10):
        call()
    return (time.perf_counter() - began) / 10


def main():
    """Measure the recipes that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = ["moco-cifar10", "mice-cifar10", "mice-mnist"]
    parser.add_argument("recipes", nargs="*", default=names)
    parser.add_argument("--batch", type=int)
    arguments = parser.parse_args()
    for name in arguments.recipes:
        source = {} if arguments.batch is None else {"batch": arguments.batch}
        recipe = IMAGE_RECIPES[name](source=source)
        step, alone, plain = trainer_step(recipe), passes_alone(recipe), plain_loop(recipe)
        images = recipe.prior.batch
        line = {
            "recipe": name,
            "batch": images,
            "images_per_second": round(images / step),
            "passes_alone": round(images / alone),
            "share": round(alone / step, 3),
            "plain_loop": round(images / plain),
            "device": torch.cuda.get_device_name(),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
