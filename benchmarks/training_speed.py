"""Milliseconds per training step of dac-mog2d on a GPU, for the choices its card reports.

Run it with `python benchmarks/training_speed.py`; it needs a CUDA device and takes two minutes.
"""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from coterie.systems.registry import build
from coterie.training.presets import preset
from coterie.training.recipe import TrainingConfig
from coterie.training.trainer import train

WARM_UP, MEASURED = 30, 100


class Clock:
    """Reads the time after the warm-up and at the end of a run."""

    def __init__(self):
        self.times = {}

    def on_step(self, progress):
        if progress.step in (WARM_UP, WARM_UP + MEASURED):
            torch.cuda.synchronize()
            self.times[progress.step] = time.perf_counter()

    @property
    def milliseconds(self):
        return 1e3 * (self.times[WARM_UP + MEASURED] - self.times[WARM_UP]) / MEASURED


def trainer_step(n_sets, **settings):
    """Milliseconds of a step of the trainer."""
    clock, recipe = Clock(), preset("dac-mog2d")
    config = TrainingConfig(steps=WARM_UP + MEASURED, sets_per_step=n_sets, **settings)
    with tempfile.TemporaryDirectory() as folder:
        train(replace(recipe, training=config), Path(folder), callbacks=[clock])
    return clock.milliseconds


def bare_step(backends, *, compiled):
    """Milliseconds of a step without the trainer, with the given kernels of attention."""
    torch.set_float32_matmul_precision("high")
    network = build("dac", {}).cuda()
    optimizer = torch.optim.Adam(network.parameters(), fused=True)
    batch = preset("dac-mog2d").prior.sample(256, torch.Generator("cuda").manual_seed(0))
    loss = torch.compile(network.loss) if compiled else network.loss
    with sdpa_kernel(backends):
        for step in range(5 + 20):
            if step == 5:
                torch.cuda.synchronize()
                start = time.perf_counter()
            loss(batch).backward()
            optimizer.step()
            optimizer.zero_grad()
        torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start) / 20


if __name__ == "__main__":
    for n_sets in (64, 256):
        print(n_sets, "sets, eager     ", round(trainer_step(n_sets), 1))
        print(n_sets, "sets, compiled  ", round(trainer_step(n_sets, compile=True), 1))
    print(
        "64 sets, compiled, bf16", round(trainer_step(64, compile=True, precision="bf16-mixed"), 1)
    )
    fused = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]
    for name, backends in (("fused", fused), ("plain", [SDPBackend.MATH])):
        for compiled in (False, True):
            how = "compiled" if compiled else "eager"
            milliseconds = bare_step(backends, compiled=compiled)
            print(f"256 sets, bare, {name} attention, {how}", round(milliseconds, 1))
