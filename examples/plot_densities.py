"""Bent clusters, found one after another, and contours of the density that they have together.

Run it with `python examples/plot_densities.py picture.png`.
"""

import sys

import torch

import coterie
from coterie.data.priors.warped import WarpedGaussians
from coterie.plots import plot_steps

drawn = WarpedGaussians.as_published(700, 4).sample(1, torch.Generator().manual_seed(3))
points = drawn.points[0, drawn.mask[0]].numpy()
model = coterie.DAC("dac-warped2d").fit(points)

if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "densities.png"
    plot_steps(points, model.clustering_, log_density=model.score_samples).savefig(target)
    print(f"{model.n_clusters_} clusters, {model.score_samples(points).mean():.2f} nats a point")
