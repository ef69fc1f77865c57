"""Clusters appearing one after another on a fresh mixture of five Gaussians.

Run it with `python examples/plot_steps.py picture.png`.
"""

import sys

from sklearn.datasets import make_blobs

import coterie
from coterie.plots import plot_steps

CENTRES = [(-4, 2), (-3.1, 1.4), (0, -3), (3, 3), (3.6, -1)]

points, _ = make_blobs([260, 180, 160, 120, 80], centers=CENTRES, cluster_std=0.25, random_state=3)
model = coterie.DAC().fit(points)

if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "steps.png"
    plot_steps(points, model.clustering_).savefig(target)
    print(f"{model.n_clusters_} clusters, drawn in {target}")
