"""What can be known of MiCE without labels, after each epoch: ELBO, entropy, cluster sizes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from coterie.training.callbacks import Progress, append_line
from coterie.training.collection_outputs import read_collection

SAMPLE = 1_000  # images; enough for shares of clusters within a few per cent


class Epoch(NamedTuple):
    """The state after an epoch, counted from one.

    elbo: the mean of the last step; entropy: of the posterior, its mean in nats; largest, smallest:
    the shares of the largest and the smallest cluster in a sample of the images.
    """

    epoch: int
    elbo: float
    entropy: float
    largest: float
    smallest: float


class EpochHistory:
    """Writes a line for every epoch and tells it to `show`.

    images: (n, C, H, W) uint8, of which every few are read; the network is not changed.
    """

    def __init__(
        self,
        path: Path,
        images: Tensor,
        steps_per_epoch: int,
        show: Callable[[Progress, Epoch | None], None] | None = None,
    ) -> None:
        self.path, self.steps_per_epoch, self.show = path, steps_per_epoch, show
        self.images = images[:: -(-len(images) // SAMPLE)]

    def on_step(self, progress: Progress) -> None:
        if progress.rank:
            return
        epoch = None
        if progress.step % self.steps_per_epoch == 0:
            epoch = self._state(progress)
            append_line(self.path, epoch._asdict())
        if self.show is not None:
            self.show(progress, epoch)

    def _state(self, progress: Progress) -> Epoch:
        posterior = read_collection(progress.system, self.images)["posterior"]
        sizes = posterior.argmax(1).bincount(minlength=posterior.shape[1]) / len(posterior)
        return Epoch(
            progress.step // self.steps_per_epoch,
            round(-float(progress.loss), 5),
            round(entropy(posterior), 5),
            round(float(sizes.max()), 4),
            round(float(sizes.min()), 4),
        )


def entropy(posterior: Tensor) -> float:
    """The mean entropy of posteriors (M, K), in nats."""
    return float(torch.special.entr(posterior).sum(1).mean())


def read_history(path: Path) -> list[dict[str, Any]]:
    """The lines of a history, the last one of each epoch: a resumed run repeats some epochs."""
    if not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return list({line["epoch"]: line for line in lines}.values())
