"""CHiGac: the pioneer of each step and the points that join it, and partitions drawn at random.

Run it with `python examples/plot_chigac.py picture.png`.
"""

import sys

import numpy as np
import torch
from matplotlib.figure import Figure
from sklearn.datasets import make_blobs

import coterie
from coterie.data.batch import SetBatch
from coterie.inference.loop import find_clusters
from coterie.plots import FAINT, INK, TAKEN, colour_of
from coterie.weights.catalogue import open_model

WEIGHTS = "chigac-mog2d"
SIZES = [60, 50, 40, 30]
CENTRES = [(-2.6, 0.7), (2.4, 1.4), (0.2, -1.9), (0.95, -1.45)]  # the last two overlap
DRAWS, SHOWN = 100, 3

points, _ = make_blobs(SIZES, centers=CENTRES, cluster_std=0.25, random_state=3)
model = coterie.CHiGac(WEIGHTS, random_state=0).fit(points)
draws = model.sample_partitions(DRAWS, random_state=0)
counts = np.bincount([draw.max() + 1 for draw in draws])


@torch.no_grad()
def steps():
    """The pioneer of each step of the loop, and who joins it: (S,), (S, n)."""
    network, _ = open_model(WEIGHTS)
    batch = SetBatch.single(torch.from_numpy(points.astype(np.float32)))
    commits = find_clusters(network, batch, generator=torch.Generator().manual_seed(0)).commits
    joined = torch.stack([commit.joined[0] for commit in commits])
    return network.pioneers(batch.points, commits)[0].numpy(), joined.numpy()


def plot():
    pioneers, joined = steps()
    columns = max(len(pioneers), SHOWN + 1)
    figure = Figure(figsize=(3.3 * columns, 6.4), dpi=100, layout="constrained")
    upper, lower = figure.subplots(2, columns)
    left = np.ones(len(points), dtype=bool)
    for number, (axes, pioneer, members) in enumerate(zip(upper, pioneers, joined, strict=False)):
        axes.scatter(*points[~left].T, s=6, c=TAKEN, linewidths=0)
        axes.scatter(*points[left & ~members].T, s=9, c=FAINT, linewidths=0)
        axes.scatter(*points[members].T, s=12, c=colour_of(number), linewidths=0)
        axes.scatter(*points[pioneer], marker="*", s=170, c="white", edgecolors=INK)
        dress(axes, f"step {number + 1}", f"{members.sum()} of {left.sum()} join the star")
        left &= ~members
    by_label(lower[0], model.labels_)
    dress(lower[0], "the answer", f"{model.n_clusters_} clusters")
    for axes, k in zip(lower[1:], np.argsort(-counts, kind="stable"), strict=False):
        if counts[k]:
            by_label(axes, next(draw for draw in draws if draw.max() + 1 == k))
            dress(axes, "drawn", f"{k} clusters in {counts[k]} of {DRAWS} draws")
    for axes in (*upper, *lower):
        axes.set_visible(axes.has_data())
    return figure


def by_label(axes, labels):
    """The points in colours that go from left to right."""
    centres = [points[labels == number, 0].mean() for number in range(labels.max() + 1)]
    place = np.argsort(np.argsort(centres))
    axes.scatter(*points.T, s=12, c=[colour_of(place[label]) for label in labels], linewidths=0)


def dress(axes, name, detail):
    axes.set_title(name, loc="left", color=INK, fontsize=11, weight="bold")
    axes.set_title(detail, loc="right", color=FAINT, fontsize=9.5)
    axes.set(xticks=[], yticks=[], aspect="equal", xlim=(-3.8, 3.6), ylim=(-3.0, 2.6))
    axes.spines[:].set_color(TAKEN)


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "chigac.png"
    plot().savefig(target)
    said = ", ".join(f"{k} in {count}" for k, count in enumerate(counts) if count)
    print(f"clusters in {DRAWS} draws: {said}; drawn in {target}")
