"""Some images of unseen classes, grouped by each method: the toy strips of AMCP's Tables 2 to 4.

    COTERIE_DATA=... python benchmarks/image_strips.py mnist PICTURE amcp=FILE dac-af=FILE ...

The first line shows the true classes; in the others a box is a cluster, and images that the best
matching of clusters and classes leaves wrong are marked. A set of 200 images is clustered, of which
some are drawn.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from coterie.data.pools import open_pool
from coterie.metrics import rightly_clustered
from coterie.training.set_scores import cluster_images_of, draw_set
from coterie.weights.format import load_system
from image_sets import UNSEEN
from pages.images import NAMES

N_IMAGES, SHOWN, SEED = 200, 24, 3
GAP, WRONG = 3, (220, 40, 40)


def strip(images: NDArray, labels: NDArray, wrong: NDArray) -> NDArray[np.uint8]:
    """Images (n, C, H, W) side by side, those of a cluster together: (H + 2 GAP, W', 3)."""
    order = np.lexsort((wrong, labels))
    tall, across = images.shape[2] + 2 * GAP, images.shape[3] + 2
    parts = []
    for before, number in zip([None, *order[:-1]], order, strict=True):
        if before is not None and labels[before] != labels[number]:
            parts.append(np.full((tall, 3 * GAP, 3), 255, np.uint8))
        cell = np.full((tall, across, 3), WRONG if wrong[number] else 255, np.uint8)
        image = np.broadcast_to(images[number].transpose(1, 2, 0), (*images.shape[2:], 3))
        cell[GAP:-GAP, 1:-1] = 255 - image if images.shape[1] == 1 else image
        parts.append(cell)
    return np.concatenate(parts, 1)


def draw(data: str, weights: dict[str, Path], target: Path) -> None:
    """A strip for the truth, and one for each method."""
    pool = open_pool(UNSEEN[data])
    drawn = draw_set(pool, N_IMAGES, min(5, len(pool.counts)), np.random.default_rng(SEED))
    images, truth = pool.images[drawn.rows], drawn.truth
    shown = np.random.default_rng(SEED).permutation(N_IMAGES)[:SHOWN]
    rows: dict[str, Any] = {"true classes": (truth, np.zeros(N_IMAGES, bool))}
    for name, file in weights.items():
        system = load_system(file)[0]
        labels = cluster_images_of(system, images)
        rows[NAMES.get(name, name)] = labels, ~rightly_clustered(truth, labels)
    figure = Figure(figsize=(10, 0.75 * len(rows)), dpi=150, layout="constrained")
    panels = figure.subplots(len(rows), 1, squeeze=False)[:, 0]
    for axes, (name, (labels, wrong)) in zip(panels, rows.items(), strict=True):
        axes.imshow(strip(images[shown], labels[shown], wrong[shown]), aspect="equal")
        axes.set_axis_off()
        axes.set_title(name, loc="left", fontsize=8, pad=2)
    figure.savefig(target)


def main() -> None:
    """Read the command line and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=sorted(UNSEEN))
    parser.add_argument("target", type=Path)
    parser.add_argument("weights", nargs="+", metavar="NAME=FILE")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    pairs = (pair.partition("=") for pair in arguments.weights)
    draw(arguments.data, {name: Path(file) for name, _, file in pairs}, arguments.target)


if __name__ == "__main__":
    main()
