"""Scores of a network on a labelled collection of images, during training.

The labels are used for the scores alone, never for training or clustering.
"""

import time
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor
from torch.nn.functional import normalize

from coterie.data.collections import LabelledImages, open_collection
from coterie.functional.spherical import spherical_kmeans
from coterie.metrics import accuracy, ari, nmi
from coterie.training.callbacks import Progress, append_line
from coterie.training.collection_outputs import CHUNK, read_collection
from coterie.training.recipe import Recipe

NEIGHBOURS, NEIGHBOUR_TEMPERATURE = 200, 0.1  # as in MoCo's kNN demo on CIFAR-10


class CollectionScores:
    """ACC, NMI and ARI of the clusters, kNN accuracy of the features; one JSON object per line.

    every: the number of epochs between two lines; the end of training always gets one.
    """

    def __init__(self, path: Path, recipe: Recipe, *, every: int) -> None:
        source = recipe.prior
        self.path, self.n_images = Path(path), source.n_images
        self.steps_per_epoch, self.every = source.steps_per_epoch, every
        self.collection = open_collection(source.name)
        self._began = time.monotonic()

    def on_step(self, progress: Progress) -> None:
        if progress.rank == 0 and (
            progress.step % (self.every * self.steps_per_epoch) == 0
            or progress.step == progress.steps
        ):
            began = time.monotonic()
            line = {
                "epoch": progress.step // self.steps_per_epoch,
                "step": progress.step,
                "loss": round(float(progress.loss), 5),
                "seconds": round(began - self._began, 1),
                **collection_scores(progress.system, self.collection, self.n_images),
                "scoring_seconds": round(time.monotonic() - began, 1),
            }
            append_line(self.path, line)


def collection_scores(
    system: Any, collection: LabelledImages, n_images: int | None = None
) -> dict[str, Any]:
    """The scores of an image system on the first n_images of a collection, all by default."""
    labels = collection.labels[:n_images]
    read = read_collection(system, torch.from_numpy(collection.images[:n_images]))
    n_clusters = system.traits.k_max or len(set(labels.tolist()))
    scores: dict[str, Any] = {}
    if "posterior" in read:
        posterior = read["posterior"]
        found = posterior.argmax(1)
        scores |= {
            "clusters": _scored(labels, found),
            "sizes": found.bincount(minlength=n_clusters).tolist(),
            "confidence": round(float(posterior.amax(1).mean()), 4),
            "entropy": round(
                float(-(posterior * posterior.clamp_min(1e-12).log()).sum(1).mean()), 4
            ),
        }
    for name in ("embeddings", "features"):
        generator = Generator(read[name].device).manual_seed(0)
        means = spherical_kmeans(read[name], n_clusters, generator, n_init=5)
        scores[f"kmeans_{name}"] = _scored(labels, means.labels)
    n_train = min(collection.n_train, len(labels) * 5 // 6)
    truth = torch.from_numpy(labels).to(read["features"].device)
    known, asked = read["features"][:n_train], read["features"][n_train:]
    scores["knn"] = round(knn_accuracy(known, truth[:n_train], asked, truth[n_train:]), 4)
    return scores


def knn_accuracy(known: Tensor, labels: Tensor, asked: Tensor, truth: Tensor) -> float:
    """Accuracy on asked (m, F) of a vote of the nearest known (n, F), weighted by cosine."""
    known, asked = normalize(known, dim=-1), normalize(asked, dim=-1)
    n_classes, right = int(labels.max()) + 1, 0
    for part, expected in zip(asked.split(CHUNK), truth.split(CHUNK), strict=True):
        cosine, index = (part @ known.T).topk(min(NEIGHBOURS, len(known)), 1)
        votes = part.new_zeros(len(part), n_classes)
        votes.scatter_add_(1, labels[index], (cosine / NEIGHBOUR_TEMPERATURE).exp())
        right += int((votes.argmax(1) == expected).sum())
    return right / len(asked)


def _scored(truth: Any, found: Tensor) -> dict[str, float]:
    labels = found.cpu().numpy()
    scores = {"acc": accuracy(truth, labels), "nmi": nmi(truth, labels), "ari": ari(truth, labels)}
    return {name: round(score, 4) for name, score in scores.items()}
