"""Measure what can be recovered from fresh sets of the universal prior, and draw forty of them.

Every method is told the true number of clusters; the best of them, chosen set by set, is what a
model that is told nothing can be held against. The ceiling knows the clusters of all other points:
where the best is far below it, look at the sets: some of their clusters may be apart in the labels
alone. A family that all of them fail on teaches nothing.

    python benchmarks/prior.py [sets of each family, 100]
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors

from bench.held_out import EMPTY
from bench.machine import describe_machine
from bench.sets import unpad
from bench.suite import SuiteSet, numbered
from bench.supervised import ceiling
from coterie.data.batch import SetBatch
from coterie.data.priors.families import FAMILIES
from coterie.data.priors.universal import Universal
from coterie.palette import INK, TAKEN, colour_of

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks/results/prior.json"
PICTURE = ROOT / "docs/images/prior.png"
SEED = 20_000
ROWS, COLUMNS = 5, 8
NEIGHBOURS = 4
LOST = 0.7  # a purity below it: most points have a stranger among four neighbours
HARD = 0.5  # an ARI below it, of the best method

Points = NDArray[np.float32]
Labels = NDArray[np.intp]


def _k_means(points: Points, k: int) -> list[Labels]:
    return [KMeans(k, n_init=5, random_state=0).fit_predict(points)]


def _mixture(points: Points, k: int) -> list[Labels]:
    return [GaussianMixture(k, n_init=2, reg_covar=1e-5, random_state=0).fit_predict(points)]


def _spectral(points: Points, k: int) -> list[Labels]:
    method = SpectralClustering(
        k, affinity="nearest_neighbors", assign_labels="cluster_qr", random_state=0
    )
    return [method.fit_predict(points)]


def _linkage(points: Points, k: int) -> list[Labels]:
    """Single linkage with room for stragglers, each of which takes a cluster for itself."""
    cuts = [min(times * k, len(points)) for times in (1, 2, 3)]
    return [AgglomerativeClustering(cut, linkage="single").fit_predict(points) for cut in cuts]


# What a method says when it is told k; of several answers the best counts.
METHODS: dict[str, Callable[[Points, int], list[Labels]]] = {
    "k-means": _k_means,
    "mixture": _mixture,
    "spectral": _spectral,
    "linkage": _linkage,
}


def labelled_sets(batch: SetBatch, family: str = "") -> Iterator[SuiteSet]:
    """The sets of a batch one by one, without padding, empty columns and empty clusters."""
    for number, given in enumerate(unpad(batch)):
        points = given.points[:, given.points.std(0) > EMPTY]
        labels = numbered(given.labels, clustered=given.labels >= 0)
        yield SuiteSet(f"{family} {number}", family, points, labels)


def purity(points: Points, labels: Labels) -> float:
    """How many of the nearest neighbours of a point have its label; noise is left out."""
    points, labels = points[labels >= 0], labels[labels >= 0]
    search = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(points) - 1)).fit(points)
    nearest = search.kneighbors(return_distance=False)
    return float((labels[nearest] == labels[:, None]).mean())


def recover(given: SuiteSet) -> dict[str, float]:
    """The purity, the ARI of each method that is given k, of the best of them, and the ceiling."""
    points, labels, scored = given.points, given.labels, given.labels >= 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # graphs in pieces, mixtures that have not converged
        ari = {
            name: max(
                float(adjusted_rand_score(labels[scored], answer[scored]))
                for answer in method(points, given.n_clusters)
            )
            for name, method in METHODS.items()
        }
    return {
        "purity": purity(points, labels),
        **ari,
        "best": max(ari.values()),
        "ceiling": ceiling(given),
    }


def measure(family: str, n_sets: int) -> dict[str, float]:
    """Mean scores on sets of two clusters or more, and how many of these are lost or hard."""
    prior = Universal(shares=((family, 1.0),))
    batch = prior.sample(n_sets, torch.Generator().manual_seed(SEED))
    scores = [recover(one) for one in labelled_sets(batch, family) if one.n_clusters > 1]
    means = {name: fmean(score[name] for score in scores) for name in scores[0]}
    lost = fmean(score["purity"] < LOST for score in scores)
    hard = fmean(score["best"] < HARD for score in scores)
    return {"sets": len(scores), **means, "lost": lost, "hard": hard}


def table(results: dict[str, dict[str, float]]) -> str:
    """The families line by line."""
    names = [name for name in next(iter(results.values())) if name != "sets"]
    lines = [f"{'family':12}{'sets':>6}" + "".join(f"{name:>10}" for name in names)]
    for family, scores in results.items():
        cells = "".join(f"{scores[name]:10.3f}" for name in names)
        lines.append(f"{family:12}{scores['sets']:6d}{cells}")
    return "\n".join(lines)


def plot_sets(batch: SetBatch) -> Figure:
    """The first sets of a batch along their first two axes, in the colours of their clusters."""
    figure = Figure(figsize=(1.5 * COLUMNS, 1.6 * ROWS), dpi=110, layout="constrained")
    panels = figure.subplots(ROWS, COLUMNS).flat
    for axes, one in zip(panels, labelled_sets(batch), strict=False):
        n, d = one.points.shape
        x = one.points[:, 0]
        y = one.points[:, 1] if d > 1 else np.zeros(n)
        colours = [TAKEN if label < 0 else colour_of(label) for label in one.labels]
        axes.scatter(x, y, c=colours, s=1.6, linewidths=0, antialiased=False)
        axes.set_title(f"n {n}, k {one.n_clusters}, d {d}", color=INK, fontsize=6.5, pad=2)
        axes.set_aspect("equal", adjustable="datalim")
        axes.axis("off")
    return figure


def main(n_sets: int = 100, results: Path = RESULTS, picture: Path = PICTURE) -> None:
    """Print the table and keep it; draw the picture."""
    found = {family: measure(family, n_sets) for family in FAMILIES}
    print(table(found))
    results.parent.mkdir(parents=True, exist_ok=True)
    kept = {
        "command": f"python benchmarks/prior.py {n_sets}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "seed": SEED,
        "families": found,
    }
    results.write_text(json.dumps(kept, indent=1) + "\n")
    picture.parent.mkdir(parents=True, exist_ok=True)
    forty = Universal().sample(ROWS * COLUMNS, torch.Generator().manual_seed(SEED))
    plot_sets(forty).savefig(picture)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
