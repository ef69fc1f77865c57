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

SIDE, SHOWN = 28, 12
ROWS = ("members", "non-members", "generated")


def main(weights: str, target: str, seed: int = 0) -> None:
    """Cluster one set of seen characters and draw its steps."""
    prior = ImageEpisodes("emnist-seen-test", 400, 4, concentration=5, binary=True, flat=True)
    drawn = prior.sample(1, torch.Generator().manual_seed(seed))
    images = drawn.points[0, drawn.mask[0]].numpy()
    model = coterie.DAC(weights, random_state=0).fit(images)
    k = model.n_clusters_
    figure = Figure(figsize=(9, 1.35 * k * len(ROWS) / 2 + 0.4), dpi=130, layout="constrained")
    panels = figure.subplots(k * len(ROWS), 1, squeeze=False)[:, 0]
    random = np.random.default_rng(0)
    for cluster in range(k):
        members = model.labels_ == cluster
        generated, _ = model.sample(SHOWN, cluster=cluster, random_state=0)
        strips = (_some(images[members], random), _some(images[~members], random), generated)
        for place, (name, strip) in enumerate(zip(ROWS, strips, strict=True)):
            axes = panels[cluster * len(ROWS) + place]
            axes.imshow(_strip(strip), cmap="gray_r", vmin=0, vmax=1, aspect="equal")
            axes.set_axis_off()
            title = f"cluster {cluster + 1}, {members.sum()} images: " if place == 0 else ""
            axes.set_title(title + name, loc="left", fontsize=8, pad=2)
    figure.savefig(target)


def _some(images: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return images[random.permutation(len(images))[:SHOWN]]


def _strip(images: np.ndarray) -> np.ndarray:
    """Images (m, 784) beside each other, with white in place of those that are missing."""
    blank = np.zeros((SHOWN - len(images), SIDE * SIDE))
    squares = np.concatenate([images, blank]).reshape(SHOWN, SIDE, SIDE)
    return np.concatenate(list(np.pad(squares, ((0, 0), (1, 1), (2, 2)))), 1)


if __name__ == "__main__":
    main(*sys.argv[1:3])
