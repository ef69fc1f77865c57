"""Scores of a clusterer of images on sets drawn from pools of labelled images.

The number of clusters is not told; the true labels are used for the scores alone.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from coterie.data.pools import ImagePool
from coterie.inference.config import InferenceConfig
from coterie.inference.endings import EndingName, choose_ending
from coterie.inference.engine import cluster_points
from coterie.metrics import accuracy, ari, k_error, nmi
from coterie.training.callbacks import Progress, append_line
from coterie.training.group_scores import evaluating
from coterie.weights.format import CONTEXT_SIZE

METRICS = ("acc", "ari", "nmi", "k_error")


class DrawnSet(NamedTuple):
    """Which images of a pool are in a set (n,), and their classes (n,)."""

    rows: NDArray[np.intp]
    truth: NDArray[np.int64]


def draw_set(
    pool: ImagePool, n_images: int, n_classes: int, random: np.random.Generator
) -> DrawnSet:
    """n images of so many classes, each class as likely; none twice if there are enough."""
    chosen = random.choice(len(pool.counts), n_classes, replace=False)
    sizes = random.multinomial(n_images, np.full(n_classes, 1 / n_classes))
    starts = np.cumsum(pool.counts) - pool.counts
    rows = [
        starts[number]
        + random.choice(pool.counts[number], size, replace=size > pool.counts[number])
        for number, size in zip(chosen, sizes, strict=True)
    ]
    every = np.concatenate(rows)
    return DrawnSet(every, pool.labels[every])


def score(truth: NDArray, labels: NDArray) -> dict[str, float]:
    """ACC, ARI, NMI and the error of k."""
    return {
        "acc": accuracy(truth, labels),
        "ari": ari(truth, labels),
        "nmi": nmi(truth, labels),
        "k_error": float(k_error(truth, labels)),
    }


def cluster_images_of(
    system: Any,
    images: NDArray[np.uint8],
    *,
    ending: EndingName = "auto",
    context_size: int = CONTEXT_SIZE,
    seed: int = 0,
) -> NDArray[np.intp]:
    """The clusters of images (n, C, H, W) as a system in memory finds them: (n,).

    context_size: on how many of them it looks for clusters.
    """
    device = str(next(system.parameters()).device)
    config = InferenceConfig(
        ending=choose_ending(ending, system.traits),
        n_restarts=system.traits.restarts,
        context_size=context_size,
        device=device,
    )
    items = (images / 255).astype(np.float32)
    return cluster_points(system, items, config, np.random.RandomState(seed)).clustering.labels


def mean_of(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Each metric, averaged over the sets."""
    return {key: round(float(np.mean([each[key] for each in scores])), 4) for key in scores[0]}


class SetScores:
    """A training callback: mean scores on sets of each pool every so many steps, a JSON line each.

    pools: by the names under which their scores are written; n_sets of n_images each; k: how many
    classes a set has, the pool's number at most.
    """

    def __init__(
        self,
        path: Path,
        pools: Mapping[str, ImagePool],
        *,
        every: int,
        n_sets: int = 5,
        n_images: int = 500,
        k: int = 5,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.path, self.pools, self.every, self.say = Path(path), pools, every, say
        random = np.random.default_rng(0)
        self.sets = {
            name: [
                draw_set(pool, n_images, min(k, len(pool.counts)), random) for _ in range(n_sets)
            ]
            for name, pool in pools.items()
        }
        self._began = time.monotonic()

    def on_step(self, progress: Progress) -> None:
        last = progress.step == progress.steps
        if progress.rank or (progress.step % self.every and not last):
            return
        line: dict[str, Any] = {"step": progress.step, "loss": round(float(progress.loss), 4)}
        line["seconds"] = round(time.monotonic() - self._began, 1)
        with evaluating(progress.system), torch.no_grad():
            for name, pool in self.pools.items():
                line[name] = mean_of(
                    [self._score(progress.system, pool, each) for each in self.sets[name]]
                )
        append_line(self.path, line)
        self.say(str(line))

    def _score(self, system: Any, pool: ImagePool, drawn: DrawnSet) -> dict[str, float]:
        return score(drawn.truth, cluster_images_of(system, pool.images[drawn.rows]))
