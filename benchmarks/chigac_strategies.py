"""The five inference strategies of CHiGac, trained with one budget: Tables 3 and 4, Figure 6.

    python benchmarks/chigac_strategies.py [--recipe chigac-mog2d] [--steps 600] [--sets-per-step 8]
        [--setting width=32] [--device cpu] [--at-once 5] [--runs runs/strategies] [--picture FILE]

The networks differ in their strategy alone: same sets, same number of steps, same seed. They are
compared on fresh labelled sets of the recipe. Several can be trained side by side, each in a
process of its own; their seconds are then not those of a machine alone.
"""

import argparse
import json
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure

from bench.chigac import mean_accuracy, tightness
from bench.machine import describe_machine
from coterie.data.batch import SetBatch
from coterie.systems.chigac.inference import STRATEGIES
from coterie.training.presets import preset
from coterie.training.trainer import train

RESULTS = Path(__file__).parent / "results" / "chigac_strategies.json"
CALLED = {"ai": "AI", "semi-ai": "Semi-AI", "iai": "IAI", "svi-ai": "SVI-AI", "eai": "EAI"}
TEST_SEED = 2**40


class Curve:
    """A callback that measures the log-likelihood of some sets every so many steps."""

    def __init__(self, batch: SetBatch, every: int) -> None:
        self.batch, self.every = batch, every
        self.points: list[dict[str, float]] = []

    def on_step(self, progress: Any) -> None:
        """Measure, and go on training."""
        if progress.step % self.every:
            return
        system = progress.system.eval()
        found = tightness(system, self.batch)
        system.train()
        self.points.append({"step": progress.step, **found._asdict()})


def main(arguments: Sequence[str] | None = None, results: Path = RESULTS) -> None:
    """Train, compare, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipe", default="chigac-mog2d")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--sets-per-step", type=int, default=8)
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=INTEGER")
    parser.add_argument("--test-sets", type=int, default=64)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--at-once", type=int, default=1, metavar="STRATEGIES")
    parser.add_argument("--out", type=Path, default=results)
    parser.add_argument("--runs", type=Path, default=Path("runs/strategies"))
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args(arguments)
    rows = {}
    for name, row in zip(STRATEGIES, all_rows(given), strict=True):
        rows[name] = row
        print(
            f"{CALLED[name]:8} log-likelihood {row['log_likelihood']:9.2f}, bound"
            f" {row['bound']:9.2f}, ELBO {row['elbo']:9.2f}, reconstruction"
            f" {row['reconstruction']:9.2f}, ACC {row['acc']:.4f}, {row['seconds']:.0f} s",
            flush=True,
        )
    told = sys.argv[1:] if arguments is None else arguments
    kept = {
        "command": shlex.join(["python", "benchmarks/chigac_strategies.py", *told]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "strategies": rows,
    }
    given.out.write_text(json.dumps(kept, indent=1) + "\n")
    if given.picture is not None:
        draw(rows, given.picture)


def all_rows(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What was measured of each strategy, in their order."""
    if given.at_once == 1:
        yield from map(partial(compare, given), STRATEGIES)
        return
    # Spawned: a forked process could not use the GPU.
    with ProcessPoolExecutor(given.at_once, mp_context=get_context("spawn")) as processes:
        yield from processes.map(partial(compare, given), STRATEGIES)


def compare(given: argparse.Namespace, name: str) -> dict[str, Any]:
    """Train the recipe with a strategy; its bounds, ACC, and log-likelihood along the way."""
    settings = {name: int(value) for name, value in (each.split("=") for each in given.setting)}
    recipe = preset(given.recipe)
    generator = torch.Generator(given.device).manual_seed(TEST_SEED)
    batch = recipe.prior.sample(given.test_sets, generator)
    own = replace(
        recipe,
        settings={**recipe.settings, **settings, "inference": name},
        training=replace(
            recipe.training,
            steps=given.steps,
            sets_per_step=given.sets_per_step,
            warmup=min(recipe.training.warmup, given.steps // 10),
        ),
    )
    curve = Curve(batch, max(1, given.steps // 20))
    accelerator = "cuda" if given.device.startswith("cuda") else "cpu"
    start = time.perf_counter()
    system: Any = train(own, given.runs / name, callbacks=[curve], accelerator=accelerator)
    seconds = time.perf_counter() - start
    system = system.eval().requires_grad_(False).to(given.device)
    found = tightness(system, batch)._asdict()
    acc = mean_accuracy(system, batch)
    return {**found, "acc": acc, "seconds": seconds, "curve": curve.points}


def draw(rows: dict[str, Any], target: Path) -> None:
    """The paper's Figure 6: log-likelihood against iterations."""
    figure = Figure(figsize=(6, 3.6), dpi=130, layout="constrained")
    axes = figure.subplots()
    for name, row in rows.items():
        steps = [point["step"] for point in row["curve"]]
        axes.plot(steps, [point["log_likelihood"] for point in row["curve"]], label=CALLED[name])
    axes.set_xlabel("iterations")
    axes.set_ylabel("log-likelihood of a set, nats")
    axes.set_yscale("symlog")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target)


if __name__ == "__main__":
    main()
