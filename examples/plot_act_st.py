"""ACT-ST: the mixtures that it decodes until it stops, and where its number of clusters ends.

Run it with `python examples/plot_act_st.py picture.png`.
"""

import sys

import numpy as np
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from sklearn.datasets import make_blobs

import coterie
from coterie.data.batch import SetBatch
from coterie.functional.stopping import log_stopped
from coterie.metrics import ari
from coterie.plots import FAINT, INK, TAKEN, colour_of
from coterie.weights.catalogue import open_model

WEIGHTS = "act_st-mog2d"
THREE = [(-2.2, 0.9), (1.4, 1.6), (0.3, -1.8)]
N_STEPS = 4
NUMBERS = (2, 4, 7, 10)  # of clusters; training had four at most


def ring(n_clusters):
    """Centres on two rings, far enough apart to be told apart by eye."""
    angle = 2 * np.pi * np.arange(n_clusters) / n_clusters + 0.4
    radius = np.where(np.arange(n_clusters) % 2, 1.9, 3.6)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def drawn(centres, seed):
    points, labels = make_blobs(
        120 * len(centres), centers=centres, cluster_std=0.25, random_state=seed
    )
    return points.astype(np.float32), labels


points, _ = drawn(THREE, 0)
sets = [drawn(ring(number), number) for number in NUMBERS]
found = [coterie.ACTST(WEIGHTS, ending="network").fit_predict(each) for each, _ in sets]
agreement = [ari(truth, labels) for (_, truth), labels in zip(sets, found, strict=True)]


@torch.no_grad()
def decoded_steps(points):
    """The probability to have stopped (K,), and the weights, means and scales of each step."""
    network, _ = open_model(WEIGHTS)
    batch = SetBatch.single(torch.from_numpy(points))
    decoded = network.network(batch.points, batch.mask, N_STEPS)
    mixtures = [
        [part[0, step, : step + 1].numpy() for part in decoded.mixtures] for step in range(N_STEPS)
    ]
    return log_stopped(decoded.going_on)[0].exp().numpy(), mixtures


def plot():
    figure = Figure(figsize=(13, 6.6), dpi=100, layout="constrained")
    upper, lower = figure.subplots(2, N_STEPS)
    stopped, mixtures = decoded_steps(points)
    for step, (axes, chance, mixture) in enumerate(zip(upper, stopped, mixtures, strict=True)):
        axes.scatter(*points.T, s=7, c=TAKEN, linewidths=0)
        draw_mixture(axes, *mixture)
        dress(axes, f"step {step + 1}", f"stops with probability {chance:.2f}")
    for axes, (each, truth), labels, score in zip(lower, sets, found, agreement, strict=True):
        axes.scatter(*each.T, s=7, c=[colour_of(label) for label in labels], linewidths=0)
        told = f"finds {len(np.unique(labels))}, ARI {score:.2f}"
        dress(axes, f"{truth.max() + 1} clusters", told)
        axes.set(xlim=(-4.8, 4.8), ylim=(-4.8, 4.8))
    return figure


def draw_mixture(axes, log_weight, mean, log_scale):
    """An ellipse of two standard deviations for each component, wider lines for more weight."""
    for number, (weight, centre, scale) in enumerate(
        zip(np.exp(log_weight), mean, np.exp(log_scale), strict=True)
    ):
        style = {"facecolor": "none", "edgecolor": colour_of(number), "lw": 1 + 3 * weight}
        axes.add_patch(Ellipse(centre, *(4 * scale), **style))
        axes.plot(*centre, "+", color=colour_of(number), markersize=8)


def dress(axes, name, detail):
    axes.set_title(name, loc="left", color=INK, fontsize=11, weight="bold")
    axes.set_title(detail, loc="right", color=FAINT, fontsize=9.5)
    axes.set(xticks=[], yticks=[], aspect="equal")
    axes.margins(0.07)
    axes.spines[:].set_color(TAKEN)


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "act-st.png"
    plot().savefig(target)
    scores = ", ".join(f"{n}: {score:.2f}" for n, score in zip(NUMBERS, agreement, strict=True))
    print(f"ARI by the number of clusters: {scores}; drawn in {target}")
