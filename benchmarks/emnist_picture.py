"""A set of EMNIST characters by clusters: members, non-members, and images that each generates.

As in Figures 6 and 7 of the DAC paper. `python benchmarks/emnist_picture.py WEIGHTS PICTURE` needs
COTERIE_DATA.
"""

import sys

import numpy as np
import torch
from matplotlib.figure import Figure

import coterie
from coterie.data.image_episodes import ImageEpisodes
from coterie.plots import FAINT, INK

SIDE, ROWS, COLUMNS = 28, 3, 6
GAP = 3  # pixels of paper between images


def main(weights: str, target: str, seed: int = 0) -> None:
    """Cluster one set of seen characters and draw its clusters, a row each."""
    prior = ImageEpisodes("emnist-seen-test", 400, 4, concentration=5, binary=True, flat=True)
    drawn = prior.sample(1, torch.Generator().manual_seed(seed))
    images = drawn.points[0, drawn.mask[0]].numpy()
    model = coterie.DAC(weights, random_state=0).fit(images)
    k = model.n_clusters_
    figure = Figure(figsize=(9, 1.55 * k + 0.3), dpi=130, layout="constrained")
    panels = figure.subplots(k, 3, squeeze=False)
    random = np.random.default_rng(0)
    for cluster, row in enumerate(panels):
        members = model.labels_ == cluster
        generated, _ = model.sample(ROWS * COLUMNS, cluster=cluster, random_state=0)
        sheets = {
            f"cluster {cluster + 1}: {members.sum()} images": _some(images[members], random),
            "generated from its context": generated,
            "not in it": _some(images[~members], random),
        }
        for axes, (title, sheet) in zip(row, sheets.items(), strict=True):
            axes.imshow(_sheet(sheet), cmap="gray_r", vmin=0, vmax=1, aspect="equal")
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_color(FAINT)
            axes.set_title(title, loc="left", fontsize=8, color=INK)
    figure.savefig(target)


def _some(images: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return images[random.permutation(len(images))[: ROWS * COLUMNS]]


def _sheet(images: np.ndarray) -> np.ndarray:
    """Images (m, 784) in rows, with paper in place of those that are missing."""
    blank = np.zeros((ROWS * COLUMNS - len(images), SIDE * SIDE))
    squares = np.concatenate([images, blank]).reshape(-1, SIDE, SIDE)
    squares = np.pad(squares, ((0, 0), (GAP, GAP), (GAP, GAP)))
    rows = squares.reshape(ROWS, COLUMNS, *squares.shape[1:])
    return np.concatenate([np.concatenate(list(row), 1) for row in rows])


if __name__ == "__main__":
    main(*sys.argv[1:3])
