"""The pioneer of each cluster that CHiGac finds, as in the paper's Figure 5.

python benchmarks/chigac_pioneers.py WEIGHTS PICTURE
"""

import sys
from typing import Any, cast

import torch
from matplotlib.figure import Figure

from bench.chigac import ExactMixtures
from coterie.data.batch import SetBatch
from coterie.inference.loop import find_clusters
from coterie.palette import PALETTE
from coterie.systems.protocol import claimed_labels
from coterie.weights.catalogue import open_model

SIZES = ((200, 4), (400, 6), (800, 12))


def main(weights: str, target: str, seed: int = 1) -> None:
    """Three sets, their clusters in the order of the steps, and the pioneers."""
    system: Any = open_model(weights)[0]
    figure = Figure(figsize=(10, 3.6), dpi=130, layout="constrained")
    for axes, (n_points, n_clusters) in zip(
        cast(Any, figure.subplots(1, len(SIZES))), SIZES, strict=True
    ):
        generator = torch.Generator().manual_seed(seed)
        drawn = ExactMixtures(n_points, n_clusters).draw(1, generator).batch
        batch = SetBatch(drawn.points, drawn.mask)
        state = find_clusters(system, batch, generator=generator)
        points, labels = drawn.points[0], claimed_labels(state.commits)[0]
        pioneers = system.pioneers(drawn.points, state.commits)[0]
        colours = [PALETTE[label % len(PALETTE)] if label >= 0 else "#bbbbbb" for label in labels]
        axes.scatter(*points.T, c=colours, s=5, linewidths=0)
        axes.scatter(*points[pioneers].T, marker="*", s=110, c="white", edgecolors="black")
        for number, place in enumerate(points[pioneers].tolist(), start=1):
            axes.annotate(str(number), place, textcoords="offset points", xytext=(6, 5), fontsize=8)
        axes.set_title(f"{n_points} points, {n_clusters} clusters", fontsize=9)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_aspect("equal")
    figure.savefig(target)


if __name__ == "__main__":
    main(*sys.argv[1:3])
