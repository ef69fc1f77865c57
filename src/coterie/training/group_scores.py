"""Scores of an image clusterer on groups of classes, each taken as one set, during training.

A group is an alphabet of Omniglot: all drawings of all its characters (DAC, section 6.3). The true
labels are used for the scores alone.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from coterie.data.pools import ImagePool
from coterie.inference.config import InferenceConfig
from coterie.inference.endings import EndingName, choose_ending
from coterie.inference.engine import cluster_points
from coterie.metrics import accuracy, k_error, nmi
from coterie.training.callbacks import Progress, append_line


class GroupScore(NamedTuple):
    """The scores on one group of n_classes classes."""

    name: str
    n_classes: int
    nmi: float
    acc: float
    k_error: int
    seconds: float


def score_groups(
    system: Any,
    pool: ImagePool,
    *,
    own_statistics: bool,
    ending: EndingName = "auto",
    n_restarts: int | None = None,
    seed: int = 0,
) -> list[GroupScore]:
    """Cluster each group of a pool, whose number of classes is not told.

    own_statistics: whether batch normalisation uses the statistics of the group instead of those
    that training has left.
    """
    device = next(system.parameters()).device
    traits = system.traits
    config = InferenceConfig(
        ending=choose_ending(ending, traits),
        n_restarts=n_restarts or traits.restarts,
        device=str(device),
    )
    scores = []
    for name in pool.group_names:
        group = pool.only((name,))
        items = (group.images / 255).astype(np.float32)
        began = time.perf_counter()
        labels = _cluster(system, items, config, own_statistics, seed)
        took = time.perf_counter() - began
        truth = group.labels
        scores.append(
            GroupScore(
                name,
                len(group.counts),
                nmi(truth, labels),
                accuracy(truth, labels),
                k_error(truth, labels),
                took,
            )
        )
    return scores


def _cluster(
    system: Any, items: NDArray[np.float32], config: InferenceConfig, own: bool, seed: int
) -> NDArray[np.intp]:
    if own:
        system = system.adapted(torch.from_numpy(items).to(config.device))
    outcome = cluster_points(system, items, config, np.random.RandomState(seed))
    return outcome.clustering.labels


def mean_scores(scores: Sequence[GroupScore]) -> dict[str, float]:
    """NMI, ACC and the error of k, averaged over the groups."""
    return {
        metric: round(float(np.mean([getattr(each, metric) for each in scores])), 4)
        for metric in ("nmi", "acc", "k_error")
    }


class GroupScores:
    """A training callback: mean scores on some groups every so many steps, one JSON line each."""

    def __init__(
        self,
        path: Path,
        pool: ImagePool,
        *,
        every: int,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.path, self.pool, self.every, self.say = Path(path), pool, every, say
        self._began = time.monotonic()

    def on_step(self, progress: Progress) -> None:
        last = progress.step == progress.steps
        if progress.rank or (progress.step % self.every and not last):
            return
        line: dict[str, Any] = {"step": progress.step, "loss": round(float(progress.loss), 4)}
        line["seconds"] = round(time.monotonic() - self._began, 1)
        with evaluating(progress.system):
            for own in (False, True):
                scores = score_groups(progress.system, self.pool, own_statistics=own)
                line["own" if own else "trained"] = mean_scores(scores)
        append_line(self.path, line)
        self.say(str(line))


@contextmanager
def evaluating(system: nn.Module) -> Iterator[None]:
    """The system in evaluation mode and not compiled inside, because the sizes of sets change."""
    before = system.training
    system.eval()
    try:
        with torch.compiler.set_stance("force_eager"):
            yield
    finally:
        system.train(before)
