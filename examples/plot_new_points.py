"""Labels and confidence of new points.

Run it with `python examples/plot_new_points.py picture.png`.
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_blobs

import coterie
from coterie.plots import INK, PALETTE

CENTRES = [(-1.6, 0.9), (-0.6, 0.4), (1.3, 1.1), (0.6, -1.3)]

points, _ = make_blobs([160, 120, 90, 60], centers=CENTRES, cluster_std=0.26, random_state=1)
model = coterie.AMCP().fit(points)

# A grid of points that fit has never seen: predict reads each of them alone.
x, y = np.meshgrid(np.linspace(-2.8, 2.4, 160), np.linspace(-2.4, 2.2, 140))
grid = np.column_stack([x.ravel(), y.ravel()])
sure = model.predict_proba(grid).max(1)
labels = model.predict(grid)


def plot():
    colours = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in PALETTE])
    ground = np.column_stack([colours[labels % len(PALETTE)], (sure - 0.5).clip(0) * 0.8])
    figure = Figure(figsize=(7, 5.4), dpi=110, layout="constrained")
    axes = figure.subplots()
    extent = (x.min(), x.max(), y.min(), y.max())
    axes.imshow(ground.reshape(*x.shape, 4), origin="lower", extent=extent, aspect="equal")
    axes.scatter(*points.T, s=14, c=colours[model.labels_], edgecolors="white", linewidths=0.4)
    axes.set_title("where a new point would go; the paler, the less sure", loc="left", color=INK)
    axes.set(xticks=[], yticks=[])
    return figure


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "new-points.png"
    plot().savefig(target)
    print(f"{model.n_clusters_} clusters, drawn in {target}")
    print(f"less than 90 % sure: {(sure < 0.9).mean():.0%} of {len(grid):,} new points")
