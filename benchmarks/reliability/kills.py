"""Trainings that are killed (SIGKILL) at random moments, also while a file is written.

After every kill each file in the folder must be whole or absent. The training is then resumed, and
killed again, until it ends: with the weights of one that was never killed, bit for bit, and without
a file of the runs that died. The systems take turns.

    python benchmarks/reliability kills --attempts 50
"""

import multiprocessing
import os
import signal
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from coterie.data.priors.mog import MixtureOfGaussians
from coterie.training.presets import preset
from coterie.training.recipe import Recipe
from coterie.weights.format import WeightsError, load_tensors
from reliability._small_systems import SMALL
from reliability._supervised import PRELOADED, START

PATIENCE = 600  # seconds that a training may take
STEPS, EVERY = 12, 3
KILLED = ("dac", "dac with flows", "act_st", "ncp", "chigac")  # beside the shipped recipe
MOMENTS = ("step", "half written", "before the rename", "after the rename", "time")


@dataclass(frozen=True)
class Kill:
    """When to kill: at the `number`-th occasion of a moment, or after some seconds."""

    moment: str
    number: int
    seconds: float


class AtStep:
    """A training callback that kills its process after a number of steps."""

    def __init__(self, number: int) -> None:
        self.left = number

    def on_step(self, progress: Any) -> None:
        self.left -= 1
        if self.left == 0:
            _die()


def campaign(
    attempts: int, seed: int = 0, recipes: Sequence[Recipe] | None = None
) -> dict[str, Any]:
    """Kill trainings of small recipes so many times; the row counts what came of them."""
    random, moments, failures, runs = Random(seed), Counter(), [], 0
    recipes = _small_recipes() if recipes is None else recipes
    with tempfile.TemporaryDirectory() as home:
        whole = [_whole(recipe, Path(home) / recipe.name) for recipe in recipes]
        while sum(moments.values()) < attempts:
            recipe, expected = recipes[runs % len(recipes)], whole[runs % len(recipes)]
            folder, runs = Path(home) / f"run{runs}", runs + 1
            left = attempts - sum(moments.values())
            for kill in _some_kills(random, left, sure=runs % 4 == 0):
                if _train(recipe, folder, kill) == 0:
                    break
                moments[kill.moment] += 1
                failures += [f"run {runs}, {kill}: {each}" for each in _half_written(folder)]
            else:
                if _train(recipe, folder, None) != 0:
                    failures.append(f"run {runs} was not resumed")
                    continue
            failures += [f"run {runs}: {each}" for each in _differences(folder, expected)]
    return {
        "campaign": "kills",
        "attempts": sum(moments.values()),
        "seed": seed,
        "recipes": [recipe.name for recipe in recipes],
        "runs": runs,
        "moments": dict(sorted(moments.items())),
        "failures": failures,
    }


def _small_recipes() -> list[Recipe]:
    """The smallest recipe that ships, and the small network of every system that reads tables."""
    shipped = preset("amcp-small")
    training = replace(shipped.training, steps=STEPS, checkpoint_every=EVERY)
    prior = MixtureOfGaussians(n_max=30, k_max=2)
    return [
        replace(shipped, training=training),
        *(
            Recipe(name, SMALL[name].system, SMALL[name].settings, prior, training)
            for name in KILLED
        ),
    ]


def _whole(recipe: Recipe, folder: Path) -> dict[str, Any]:
    """The weights of a training that is never killed."""
    assert _train(recipe, folder, None) == 0
    return _tensors(folder)


def _some_kills(random: Random, most: int, *, sure: bool) -> list[Kill]:
    """One to three kills of one run, at early occasions where they are to happen for sure."""
    count = min(most, random.randint(1, 3))
    return [
        Kill(
            random.choice(MOMENTS[:-1] if sure else MOMENTS),
            random.randint(1, 2 if sure else 6),
            random.uniform(0.0, 2.0),
        )
        for _ in range(count)
    ]


def _train(recipe: Recipe, folder: Path, kill: Kill | None) -> int:
    """Train or resume in a process of its own; its exit code, negative if it was killed."""
    context = multiprocessing.get_context(START)
    if START == "forkserver":
        context.set_forkserver_preload([*PRELOADED])
    process = context.Process(target=_run, args=(recipe, folder, kill))  # type: ignore[attr-defined]
    process.start()
    process.join(kill.seconds if kill is not None and kill.moment == "time" else PATIENCE)
    if process.is_alive():
        process.kill()
        process.join()
    code: int = process.exitcode
    return code


def _run(recipe: Recipe, folder: Path, kill: Kill | None) -> None:
    import torch

    from coterie.training.trainer import train

    torch.set_num_threads(1)
    callbacks = []
    if kill is not None and kill.moment == "step":
        callbacks.append(AtStep(kill.number))
    elif kill is not None:
        _arm(kill)
    train(recipe, folder, resume=True, callbacks=callbacks, accelerator="cpu")


def _arm(kill: Kill) -> None:
    """Let this process die at an occasion of writing."""
    write, rename, occasions = Path.write_bytes, Path.replace, Counter()

    def is_now(moment: str) -> bool:
        occasions[moment] += 1
        return moment == kill.moment and occasions[moment] == kill.number

    def written(path: Path, content: Any) -> int:
        if is_now("half written"):
            write(path, content[: len(content) // 2])
            _die()
        return write(path, content)

    def renamed(path: Path, target: Path) -> Path:
        if is_now("before the rename"):
            _die()
        moved = rename(path, target)
        if is_now("after the rename"):
            _die()
        return moved

    Path.write_bytes = written  # type: ignore[method-assign]
    Path.replace = renamed  # type: ignore[method-assign]


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _half_written(folder: Path) -> list[str]:
    """The files that are there and not whole; what has a temporary name is not yet there."""
    bad = []
    for path in folder.glob("*.safetensors") if folder.is_dir() else ():
        if path.name.startswith("."):
            continue
        try:
            load_tensors(path)
        except WeightsError as error:
            bad.append(str(error))
    return bad


def _tensors(folder: Path) -> dict[str, Any]:
    return load_tensors(folder / "weights.safetensors")[0]


def _differences(folder: Path, expected: dict[str, Any]) -> list[str]:
    """What differs from a training that was never killed: tensors, and files left behind."""
    found = _tensors(folder)
    bad = [name for name in expected if not expected[name].equal(found[name])]
    names = sorted(path.name for path in folder.iterdir())
    if names != ["checkpoint.safetensors", "weights.safetensors"]:
        bad.append(f"left behind: {names}")
    return bad
