"""The pioneer of each cluster that CHiGac finds, as in the paper's Figure 5.

python benchmarks/chigac_pioneers.py WEIGHTS PICTURE

Of weights for digits the pioneers are images of MNIST's test side, which needs COTERIE_DATA.
"""

import sys
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

import coterie
from bench.chigac import ExactMixtures
from coterie.data.batch import SetBatch
from coterie.data.pools import open_pool
from coterie.inference.loop import find_clusters
from coterie.palette import FAINT, INK, PALETTE
from coterie.systems.protocol import claimed_labels
from coterie.weights.catalogue import open_model

SIZES = ((200, 4), (400, 6), (800, 12))
N_IMAGES, MEMBERS = 200, 6


class Found(NamedTuple):
    """The cluster of each point of a set (N,), -1 for none, and the pioneer of each step (S,)."""

    labels: NDArray[np.intp]
    pioneers: NDArray[np.intp]


def find(system: Any, points: torch.Tensor, generator: torch.Generator) -> Found:
    """What the loop finds in a set (N, D)."""
    batch = SetBatch.single(points)
    commits = find_clusters(system, batch, generator=generator).commits
    pioneers = system.pioneers(batch.points, commits)[0]
    return Found(claimed_labels(commits)[0].numpy(), pioneers.numpy())


def main(weights: str, target: str, seed: int = 1) -> None:
    """Sets in the plane, or one of digits, by what the weights read."""
    system, card = open_model(weights)
    figure = _digits(weights, seed) if card.traits.reads_images else _plane(system, seed)
    figure.savefig(target)


def _plane(system: Any, seed: int) -> Figure:
    """Three sets, their clusters in the order of the steps, and the pioneers."""
    figure = Figure(figsize=(10, 3.6), dpi=130, layout="constrained")
    for axes, (n_points, n_clusters) in zip(
        cast(Any, figure.subplots(1, len(SIZES))), SIZES, strict=True
    ):
        generator = torch.Generator().manual_seed(seed)
        points = ExactMixtures(n_points, n_clusters).draw(1, generator).batch.points[0]
        labels, pioneers = find(system, points, generator)
        colours = [PALETTE[label % len(PALETTE)] if label >= 0 else "#bbbbbb" for label in labels]
        axes.scatter(*points.T, c=colours, s=5, linewidths=0)
        axes.scatter(*points[pioneers].T, marker="*", s=110, c="white", edgecolors="black")
        for number, place in enumerate(points[pioneers].tolist(), start=1):
            axes.annotate(str(number), place, textcoords="offset points", xytext=(6, 5), fontsize=8)
        axes.set_title(f"{n_points} points, {n_clusters} clusters", fontsize=9)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_aspect("equal")
    return figure


def _digits(weights: str, seed: int) -> Figure:
    """A column for each step: its pioneer above, and some images that joined it."""
    pool = open_pool("mnist-test")
    random = np.random.default_rng(seed)
    images = pool.images[random.choice(len(pool.images), N_IMAGES, replace=False), 0]
    frame: Any = coterie.CHiGac(weights, random_state=0).fit(images).fitted_.frame
    vectors = torch.from_numpy(frame((images / 255).reshape(N_IMAGES, -1)))
    labels, pioneers = find(frame.system, vectors, torch.Generator().manual_seed(seed))
    size = (0.62 * len(pioneers), 0.62 * (MEMBERS + 1) + 0.3)
    figure = Figure(figsize=size, dpi=130, layout="constrained")
    panels = figure.subplots(MEMBERS + 1, len(pioneers), squeeze=False)
    for step, (column, pioneer) in enumerate(zip(panels.T, pioneers, strict=True)):
        members = np.flatnonzero(labels == labels[pioneer])
        others = random.permutation(members[members != pioneer])[:MEMBERS]
        for axes, row in zip(column, [pioneer, *others], strict=False):
            axes.imshow(images[row], cmap="gray_r")
        for axes in column:
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_color("none" if axes is not column[0] else INK)
        column[0].set_title(str(step + 1), fontsize=8, color=FAINT)
    return figure


if __name__ == "__main__":
    main(*sys.argv[1:3])
