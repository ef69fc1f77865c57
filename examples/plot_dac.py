"""DAC: five clusters found one after another, by a network that has seen four at most.

Run it with `python examples/plot_dac.py picture.png`.
"""

import sys

from sklearn.datasets import make_blobs

import coterie
from coterie.metrics import ari
from coterie.plots import plot_steps

SIZES = [140, 120, 100, 80, 60]
CENTRES = [(-2.6, 1.4), (2.4, 1.9), (0.3, 0.1), (-1.9, -1.9), (2.2, -1.6)]

points, truth = make_blobs(SIZES, centers=CENTRES, cluster_std=0.25, random_state=0)
model = coterie.DAC("dac-mog2d", whole_trace=True).fit(points)

if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "dac-steps.png"
    plot_steps(points, model.clustering_, log_density=model.score_samples).savefig(target)
    score = ari(truth, model.labels_)
    print(f"{model.n_clusters_} clusters, ARI {score:.2f}; drawn in {target}")
