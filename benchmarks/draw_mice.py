"""Draw how MiCE learnt the digits of MNIST, and what it made of them.

    COTERIE_DATA=... python benchmarks/draw_mice.py docs/images

`mice-curves.png`: scores against epochs, from the log of the shipped model. `mice-posterior.png`:
the histogram of posteriors and the cluster sizes of all images read. `mice-embeddings.png`: t-SNE
of the gate's embeddings, coloured by the true digit. It prints the scores of the images read.
"""

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import TSNE

import coterie
from coterie.data.collections import open_collection
from coterie.metrics import accuracy, ari, nmi
from coterie.weights.catalogue import find

NAME = "mice-mnist"
NAMES = {"acc": "ACC", "nmi": "NMI", "ari": "ARI"}


def read_scores(path):
    """The lines of a log that have scores."""
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return [line for line in lines if "clusters" in line]


def draw_curves(lines):
    """ACC, NMI and ARI of the clusters, and the entropy of the posterior, against epochs."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    epochs = [line["epoch"] for line in lines]
    for name, called in NAMES.items():
        left.plot(epochs, [line["clusters"][name] for line in lines], marker="o", label=called)
    left.plot(epochs, [line["knn"] for line in lines], "--", color="grey", label="kNN accuracy")
    left.axhline(0.97, color="black", linewidth=0.5)
    left.set(xlabel="epoch", ylim=(0.55, 1.0), title="agreement with the digits")
    left.legend(loc="lower right")
    right.plot(epochs, [line["entropy"] for line in lines], marker="o", color="black")
    right.set(xlabel="epoch", title="mean entropy of the posterior (nats)", ylim=(0, np.log(10)))
    return figure


def draw_posterior(probabilities, truth, labels):
    """The largest posterior of each image, right and wrong, and the sizes of the clusters."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    own = probabilities.max(1)
    digit_of = [np.bincount(truth[labels == k], minlength=10).argmax() for k in range(10)]
    correct = np.array(digit_of)[labels] == truth
    left.hist([own[correct], own[~correct]], bins=40, stacked=True, label=["right", "wrong"])
    left.set(xlabel="posterior of its own cluster", ylabel="images", xlim=(0, 1))
    left.legend()
    table = np.zeros((10, 10), dtype=int)
    np.add.at(table, (labels, truth), 1)
    below = np.zeros(10)
    for digit in range(10):
        right.bar(range(10), table[:, digit], bottom=below, color=f"C{digit}", label=str(digit))
        below += table[:, digit]
    right.set(xlabel="cluster", ylabel="images", xticks=range(10))
    right.legend(
        title="digit", ncols=2, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5)
    )
    return figure


def draw_embeddings(embedded, truth):
    """t-SNE of embeddings (n, D), coloured by the true digit."""
    places = TSNE(random_state=0, metric="cosine", init="pca").fit_transform(embedded)
    figure, axes = plt.subplots(figsize=(6, 5.4), layout="constrained")
    for digit in range(10):
        axes.scatter(*places[truth == digit].T, s=3, color=f"C{digit}", label=str(digit))
    axes.set(xticks=[], yticks=[])
    axes.legend(title="digit", markerscale=4)
    return figure


def main():
    """Read, score and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=10_000, help="the last so many of MNIST")
    parser.add_argument("--shown", type=int, default=3_000, help="in the t-SNE")
    arguments = parser.parse_args()
    mnist = open_collection("mnist")
    images, truth = mnist.images[-arguments.images :], mnist.labels[-arguments.images :]
    model = coterie.MiCE(NAME).fit(images)
    scores = {"acc": accuracy, "nmi": nmi, "ari": ari}
    found = {name: round(score(truth, model.labels_), 4) for name, score in scores.items()}
    sizes = np.bincount(model.labels_).tolist()
    print(json.dumps({"images": len(images), **found, "sizes": sizes}), flush=True)
    shown = slice(arguments.shown)
    figures = {
        "mice-curves": draw_curves(read_scores(find(NAME).with_suffix(".jsonl"))),
        "mice-posterior": draw_posterior(model.probabilities_, truth, model.labels_),
        "mice-embeddings": draw_embeddings(model.embed(images[shown]), truth[shown]),
    }
    for name, figure in figures.items():
        figure.savefig(arguments.folder / f"{name}.png", dpi=110)


if __name__ == "__main__":
    main()
