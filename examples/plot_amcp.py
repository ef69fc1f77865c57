"""AMCP on a mixture of five Gaussians: promise, anchors, memberships, labels.

Run it with `python examples/plot_amcp.py picture.png`.
"""

import sys

import numpy as np
import torch
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from sklearn.datasets import make_blobs

import coterie
from coterie.data.batch import SetBatch
from coterie.plots import FAINT, INK, PALETTE, PAPER, TAKEN
from coterie.weights.catalogue import open_model

WEIGHTS = "amcp-mog2d"
CENTRES = [(-1.5, 1.1), (-0.7, 0.5), (-0.9, -1.4), (1.2, 1.3), (1.3, -0.8)]
SIZES = [150, 110, 90, 70, 50]

# Hues are for clusters; promise runs from pale to dark, which reads in grey as well.
PROMISE = LinearSegmentedColormap.from_list("promise", ["#F0E442", "#7A8A6A", "#1B2A4A"])
STAR = {"marker": "*", "linestyle": "none", "markerfacecolor": "white", "markeredgecolor": INK}
DOT = {"marker": "o", "linestyle": "none", "markersize": 6}

points, _ = make_blobs(SIZES, centers=CENTRES, cluster_std=0.26, random_state=7)
points = points.astype(np.float32)
model = coterie.AMCP(WEIGHTS).fit(points)


def promise_of(points):
    """How well a cluster found from each point would fit, as the network expects: (n,)."""
    network, _ = open_model(WEIGHTS)
    batch = SetBatch.single(torch.from_numpy(points))
    with torch.no_grad():
        features, _ = network.network.encode(batch.points, batch.mask)
    return features.promise[0, :, 0].sigmoid().numpy()


def anchors_of(promise, steps):
    """Where each step starts: at the best promise that no cluster before it nearly took."""
    outlook, anchors = promise.copy(), []
    for step in steps:
        anchors.append(step.offered[outlook[step.offered].argmax()])
        outlook[step.offered] *= 1 - step.probabilities
    return anchors


def plot(points, promise, model):
    anchors = anchors_of(promise, model.trace_)
    figure = Figure(figsize=(16, 3.3), dpi=100, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.05, h_pad=0.04, wspace=0.02)
    first, *between, last = figure.subplots(1, len(anchors) + 2, sharex=True, sharey=True)

    draw_promise(first, points, promise)
    mark(first, points[anchors[0]])
    taken = np.zeros(len(points), dtype=bool)
    for number, (axes, step) in enumerate(zip(between, model.trace_, strict=True)):
        fate = np.bincount(model.labels_[step.claimed]).argmax()
        axes.scatter(*points[taken].T, s=4, c=TAKEN, linewidths=0)
        draw_step(axes, points, step, membership_ramp(colour(fate)))
        dress(axes, f"step {number + 1}", f"takes {len(step.claimed)} of {len(step.offered)}")
        mark(axes, points[anchors[number]])
        taken[step.claimed] = True
    last.set_facecolor(PAPER)
    last.scatter(*points.T, s=16, c=[colour(label) for label in model.labels_], linewidths=0)
    dress(last, "labels", f"{model.n_clusters_} clusters")
    plain = {"frameon": False, "labelcolor": INK, "fontsize": 10, "handletextpad": 0.2}
    figure.legend(handles=legend(), loc="outside lower center", ncols=5, **plain)
    return figure


def draw_promise(axes, points, promise):
    rising = promise.argsort()
    dots = axes.scatter(*points[rising].T, s=16, c=promise[rising], cmap=PROMISE, linewidths=0)
    dress(axes, "promise", "of every point")
    place = axes.inset_axes((0.2, -0.11, 0.6, 0.045))
    axes.figure.colorbar(dots, cax=place, orientation="horizontal", ticks=[])
    place.spines[:].set_visible(False)
    style = {"transform": place.transAxes, "va": "center", "color": FAINT, "fontsize": 9.5}
    place.text(-0.05, 0.5, "low", ha="right", **style)
    place.text(1.05, 0.5, "high", ha="left", **style)


def draw_step(axes, points, step, ramp):
    rising = step.probabilities.argsort()
    x, y = points[step.offered[rising]].T
    fill = ramp(step.probabilities[rising])
    axes.scatter(x, y, s=16, c=fill, edgecolors=FAINT, linewidths=0.4)


def mark(axes, place):
    axes.plot(*place, markersize=14, markeredgewidth=1.3, **STAR)


def dress(axes, name, detail):
    axes.set_title(name, loc="left", color=INK, fontsize=11, weight="bold")
    axes.set_title(detail, loc="right", color=FAINT, fontsize=9.5)
    axes.set(xticks=[], yticks=[], aspect="equal")
    axes.margins(0.07)
    axes.spines[:].set_color(TAKEN)


def legend():
    ramp = membership_ramp(PALETTE[0])
    likely = {"sure to join": 1.0, "half likely": 0.5, "unlikely": 0.0}
    return [
        Line2D([], [], label="anchor", markersize=12, **STAR),
        *(
            Line2D([], [], label=label, mfc=ramp(value), mec=FAINT, mew=0.4, **DOT)
            for label, value in likely.items()
        ),
        Line2D([], [], label="taken before", mfc=TAKEN, mec="none", **{**DOT, "markersize": 3}),
    ]


def membership_ramp(colour):
    return LinearSegmentedColormap.from_list("membership", ["white", colour])


def colour(cluster):
    return PALETTE[cluster % len(PALETTE)]


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "amcp-steps.png"
    plot(points, promise_of(points), model).savefig(target)
    print(f"{model.n_clusters_} clusters, drawn in {target}")
