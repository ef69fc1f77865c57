"""Draws of whole partitions by NCP: clusters that overlap are one in some draws and two in others.

Run it with `python examples/plot_partitions.py picture.png`.
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_blobs

import coterie
from coterie.plots import FAINT, INK, PALETTE, PAPER

CENTRES = [(-2.4, 0.8), (2.2, 1.2), (0.0, -1.6), (0.62, -1.3)]  # the last two overlap
SIZES = [30, 25, 24, 22]
DRAWS, SHOWN = 200, 3

points, _ = make_blobs(SIZES, centers=CENTRES, cluster_std=0.25, random_state=5)
model = coterie.NCP(n_samples=50, random_state=0).fit(points)
draws = model.sample_partitions(DRAWS, random_state=0)
counts = np.bincount([draw.max() + 1 for draw in draws], minlength=SHOWN)


def by_place(draw):
    """The labels (n,) of a draw, numbered from left to right, so that colours agree."""
    centres = [points[draw == number, 0].mean() for number in range(draw.max() + 1)]
    return np.argsort(np.argsort(centres))[draw]


def plot():
    figure = Figure(figsize=(15, 3.8), dpi=100, layout="constrained", facecolor=PAPER)
    *panels, matrix = figure.subplots(1, SHOWN + 1)
    for panel, k in zip(panels, np.argsort(-counts, kind="stable"), strict=False):
        if not counts[k]:
            panel.set_visible(False)
            continue
        draw = next(draw for draw in draws if draw.max() + 1 == k)
        colours = [PALETTE[label % len(PALETTE)] for label in by_place(draw)]
        panel.scatter(*points.T, c=colours, s=16, linewidths=0)
        panel.set_title(f"{k} clusters: {counts[k]} of {DRAWS} draws", color=INK, fontsize=11)
        panel.set(aspect="equal", facecolor=PAPER)
    order = np.lexsort([points[:, 0], model.labels_])
    together = model.co_assignment(n_samples=DRAWS, random_state=0)[np.ix_(order, order)]
    matrix.imshow(together, cmap="Greys", vmin=0, vmax=1)
    matrix.set_title("share of draws with two points in one cluster", color=INK, fontsize=11)
    for panel in (*panels, matrix):
        panel.set(xticks=[], yticks=[])
        panel.spines[:].set_color(FAINT)
    return figure


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "partitions.png"
    plot().savefig(target)
    said = ", ".join(f"{k} in {count}" for k, count in enumerate(counts) if count)
    print(f"clusters in {DRAWS} draws: {said}; drawn in {target}")
