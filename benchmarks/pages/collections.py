"""MoCo and MiCE on one collection: scores along a training, and how fast a step is."""

from pages.cells import grid
from pages.results import steps

RECIPES = {"moco-cifar10": "MoCo", "mice-cifar10": "MiCE"}
CLUSTERED = ("kmeans_embeddings", "kmeans_features")
METRICS = ("acc", "nmi", "ari")


def collection_curve(name: str) -> str:
    """Scores at the epochs where they were taken: of the features' neighbours, and of k-means."""
    rows = [
        [
            f"{line['epoch']:,}",
            f"{line['knn']:.3f}",
            *(f"{line[kind][metric]:.3f}" for kind in CLUSTERED for metric in METRICS),
        ]
        for line in steps(name)
    ]
    names = [metric.upper() for metric in METRICS]
    header = ["epoch", "kNN", *names, *(f"{name} of features" for name in names)]
    return grid(header, rows) + "\n"


def collection_speed() -> str:
    """Images per second of the trainer's step, of the passes alone, and of a plain loop."""
    rows = [
        [
            RECIPES[line["recipe"]],
            str(line["batch"]),
            f"{line['images_per_second']:,}",
            f"{line['passes_alone']:,}",
            f"{line['share']:.2f}",
            f"{line['plain_loop']:,}",
        ]
        for line in steps("collection_speed")
    ]
    header = ["", "batch", "images per second", "both passes alone", "share", "plain loop"]
    devices = ", ".join(dict.fromkeys(line["device"] for line in steps("collection_speed")))
    return grid(header, rows) + f"\n\n`python benchmarks/collection_speed.py`, {devices}.\n"
