"""Callbacks of a training run: schedule, checkpoints, log, validation.

A callback defines any of `before_step(step, optimizers)`, `on_step(progress)` and `on_end(system)`.
"""

import json
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from coterie.inference.loop import find_labels
from coterie.metrics import ari, k_error
from coterie.training.checkpoint import save_checkpoint
from coterie.training.recipe import Prior, Recipe, TrainingConfig

SECONDS_AT_RISK = 30.0  # of training that a killed run may lose


class Progress(NamedTuple):
    """The state passed to callbacks after a step: loss is a scalar on the device."""

    step: int
    steps: int
    loss: Tensor
    system: nn.Module
    optimizers: Sequence[Optimizer]
    rank: int = 0

    @property
    def learning_rate(self) -> float:
        """The learning rate of the first optimizer in this step."""
        return float(self.optimizers[0].param_groups[0]["lr"])


def require_finite(system: nn.Module, step: int) -> None:
    """Raise if training diverged, before a good state is overwritten."""
    for name, value in system.named_parameters():
        if not bool(value.isfinite().all()):
            raise FloatingPointError(f"{name} is not finite after {step} steps")


class Schedule:
    """Linear warm-up, then a cosine down to final_share of the peak, or falls at given steps.

    The rate of each group of weights is scaled alike, from the one it was made with.
    """

    def __init__(self, config: TrainingConfig) -> None:
        self.config = config

    def before_step(self, step: int, optimizers: Sequence[Optimizer]) -> None:
        rate, peak = self.rate(step), self.config.learning_rate
        for group in (group for optimizer in optimizers for group in optimizer.param_groups):
            own = rate * (group.get("initial_lr", peak) / peak)
            if isinstance(group["lr"], Tensor):  # in place, because a captured step reads it
                group["lr"].fill_(own)
            else:
                group["lr"] = own

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from zero."""
        config = self.config
        if step < config.warmup:
            return config.learning_rate * (step + 1) / config.warmup
        if config.falls:
            fallen = sum(step >= fall for fall in config.falls)
            return config.learning_rate * config.fall**fallen
        progress = (step - config.warmup) / max(1, config.steps - config.warmup)
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
        return config.learning_rate * (config.final_share + (1 - config.final_share) * cosine)


class Checkpoints:
    """Save the training state on the first of several devices: often enough to lose little.

    That is every `checkpoint_every` steps of the recipe, every half minute, and after the last
    step, because what follows, such as measuring the card, may be interrupted too.
    """

    def __init__(
        self,
        path: Path,
        recipe: Recipe,
        *,
        seconds: float = SECONDS_AT_RISK,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path, self.recipe = path, recipe
        self.seconds, self._clock = seconds, clock
        self._saved_at = clock()

    def on_step(self, progress: Progress) -> None:
        if progress.rank == 0 and self._is_due(progress):
            if not math.isfinite(float(progress.loss)):
                raise FloatingPointError(f"the loss is {progress.loss} after {progress.step} steps")
            self.save(progress)

    def _is_due(self, progress: Progress) -> bool:
        return (
            progress.step % self.recipe.training.checkpoint_every == 0
            or progress.step == progress.steps
            or self._clock() - self._saved_at >= self.seconds
        )

    def save(self, progress: Progress) -> None:
        """Save the state after a step, if it is finite."""
        require_finite(progress.system, progress.step)
        save_checkpoint(
            self.path,
            progress.system,
            progress.optimizers,
            step=progress.step,
            recipe=self.recipe.describe(),
        )
        self._saved_at = self._clock()


class Validation:
    """ARI and k-MAE of the network's own clusters on held-out sets, one JSON object per line."""

    def __init__(
        self,
        path: Path,
        prior: Prior,
        *,
        every: int = 1000,
        n_sets: int = 32,
        seed: int = 2**40,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.path, self.every, self.say = Path(path), every, say
        self.batch = prior.sample(n_sets, torch.Generator().manual_seed(seed))
        self.latest: dict[str, float] = {}

    def on_step(self, progress: Progress) -> None:
        if progress.rank == 0 and (
            progress.step % self.every == 0 or progress.step == progress.steps
        ):
            self.latest = self.scores(progress.system)
            append_line(self.path, {"step": progress.step, **self.latest})
            if progress.step < progress.steps:
                self.say(f"step {progress.step:,}: {self.in_words()}")

    def in_words(self) -> str:
        """The latest scores, for people."""
        if not self.latest:
            return "none"
        return (
            f"ARI {self.latest['ari']:.3f}, k off by {self.latest['k_mae']:.2f}"
            f" on {len(self.batch.mask)} held-out sets"
        )

    def scores(self, system: Any) -> dict[str, float]:
        """Mean scores over the sets; left-over points count as one cluster."""
        device = next(system.parameters()).device
        with torch.compiler.set_stance(
            "force_eager"
        ):  # shapes change, so compiled code would not fit
            generator = torch.Generator(device).manual_seed(0)
            found = find_labels(system, self.batch.to(device), generator=generator).cpu()
        assert self.batch.labels is not None
        pairs = [
            (truth[mask], labels[mask])
            for truth, labels, mask in zip(self.batch.labels, found, self.batch.mask, strict=True)
        ]
        return {
            "ari": round(sum(ari(*pair) for pair in pairs) / len(pairs), 6),
            "k_mae": round(sum(k_error(*pair) for pair in pairs) / len(pairs), 6),
        }


class JsonLog:
    """One JSON object per line: step, mean loss since the last line, learning rate, seconds.

    A resumed run appends; for repeated steps the later line counts.
    """

    def __init__(self, path: Path, every: int = 50) -> None:
        self.path, self.every = Path(path), every
        self._losses: list[Tensor] = []
        self._began = time.monotonic()

    def on_step(self, progress: Progress) -> None:
        if progress.rank:
            return
        self._losses.append(progress.loss)
        if progress.step % self.every and progress.step != progress.steps:
            return
        mean = sum(float(loss) for loss in self._losses) / len(self._losses)
        self._losses.clear()
        line = {
            "step": progress.step,
            "loss": round(mean, 6),
            "learning_rate": progress.learning_rate,
            "seconds": round(time.monotonic() - self._began, 3),
        }
        append_line(self.path, line)


def append_line(path: Path, line: dict[str, Any]) -> None:
    """Add a JSON object to a file of one a line, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        end = file.seek(0, os.SEEK_END)
        content = json.dumps(line).encode() + b"\n"
        try:
            while content:  # a full disk takes a part before it refuses
                content = content[file.write(content) :]
        except OSError as error:
            file.truncate(end)
            raise OSError(error.errno, error.strerror, str(path)) from error
