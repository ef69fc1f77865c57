"""Two moons and two blobs, found one after another.

Run it with `python examples/plot_steps.py picture.png`.
"""

import sys

import numpy as np
from sklearn.datasets import make_blobs, make_moons

import coterie
from coterie.plots import plot_steps

moons, _ = make_moons(300, noise=0.05, random_state=3)
blobs, _ = make_blobs(
    [120, 80], centers=[(2.6, 1.3), (-1.2, -1.2)], cluster_std=0.2, random_state=3
)
points = np.concatenate([moons, blobs])
model = coterie.AMCP().fit(points)

if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "steps.png"
    plot_steps(points, model.clustering_).savefig(target)
    print(f"{model.n_clusters_} clusters, drawn in {target}")
