"""Compare tables of the prior with real ones: quartiles of what can be measured without a model.

Both are drawn without sifting, and only those count whose classes a method that is told k can see
(an ARI above 0.3): the tables that the prior is to resemble.

    COTERIE_DATA=... python benchmarks/table_statistics.py [sets, 150]
"""

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KNeighborsClassifier

from coterie.data.priors.real_tables import FOLDER, training_tables
from coterie.data.priors.tables import Tables

SEED = 7
ROWS = 900
SEEN = 0.3
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
NEIGHBOURS = 5


class Labelled(NamedTuple):
    """Points (n, d) with standardised columns, and labels (n,)."""

    points: NDArray[np.float64]
    labels: NDArray[np.int64]


def real(folder: Path) -> Iterator[Labelled]:
    """The training tables, at most ROWS of their rows."""
    for table in training_tables(folder, -1.0):
        rows = np.random.default_rng(SEED).permutation(len(table.labels))[:ROWS]
        yield _labelled(table.points[rows], table.labels[rows])


def drawn(n_sets: int) -> Iterator[Labelled]:
    """Tables of the prior with two clusters or more."""
    prior = Tables(spare=1.0)
    generator = torch.Generator().manual_seed(SEED)
    for _ in range(0, n_sets, 50):
        batch = prior.sample_tables(50, generator)
        assert batch.labels is not None
        for points, mask, labels in zip(batch.points, batch.mask, batch.labels, strict=True):
            labelled = _labelled(points[mask].numpy(), labels[mask].numpy())
            if len(np.unique(labelled.labels)) > 1:
                yield labelled


def given_k(points: NDArray, labels: NDArray) -> float:
    """The ARI of the better of k-means and a full mixture that are told k."""
    k = len(np.unique(labels))
    answers = [KMeans(k, n_init=3, random_state=0).fit_predict(points)]
    if len(points) > 5 * points.shape[1]:
        mixture = GaussianMixture(k, reg_covar=1e-4, random_state=0)
        answers.append(mixture.fit_predict(points))
    return max(float(adjusted_rand_score(labels, answer)) for answer in answers)


def statistics(points: NDArray, labels: NDArray) -> dict[str, float]:
    """What the columns of a table are like, and how its classes lie in them."""
    n, d = points.shape
    unit = (points - points.mean(0)) / points.std(0)
    skew, tails = abs(stats.skew(unit)), stats.kurtosis(unit)
    values = np.array([len(np.unique(column)) for column in unit.T])
    correlation = np.corrcoef(unit.T) if d > 1 else np.eye(1)
    beside = abs(correlation[np.triu_indices(d, 1)]) if d > 1 else np.zeros(1)
    variance = np.clip(np.linalg.eigvalsh(correlation), 0, None)
    sizes = np.unique(labels, return_counts=True)[1]
    between = sum(
        (labels == label).mean() * unit[labels == label].mean(0) ** 2 for label in np.unique(labels)
    )
    search = KNeighborsClassifier(NEIGHBOURS).fit(unit, labels)
    neighbours = search.kneighbors(return_distance=False)
    return {
        "rows": n,
        "columns": d,
        "clusters": len(sizes),
        "skewness, median column": float(np.median(skew)),
        "skewness, 9th tenth": float(np.quantile(skew, 0.9)),
        "kurtosis, median column": float(np.median(tails)),
        "kurtosis, 9th tenth": float(np.quantile(tails, 0.9)),
        "columns of <= 12 values": float((values <= 12).mean()),
        "rows / distinct values": float(np.median(n / values)),
        "correlation, median": float(np.median(beside)),
        "first axis": float(variance[-1] / variance.sum()),
        "axes that count": float(variance.sum() ** 2 / (variance**2).sum()),
        "between, median column": float(np.median(between)),
        "between, best column": float(np.max(between)),
        "largest cluster * k": float(sizes.max() / sizes.sum() * len(sizes)),
        "smallest cluster * k": float(sizes.min() / sizes.sum() * len(sizes)),
        "same label, 5 neighbours": float((labels[neighbours] == labels[:, None]).mean()),
        "ARI told k": given_k(unit, labels),
    }


def main(n_sets: int = 150) -> None:
    """Print the quantiles side by side."""
    warnings.simplefilter("ignore")  # mixtures that have not converged
    both = {"real": real(Path(os.environ[FOLDER])), "prior": drawn(n_sets)}
    rows = {name: [statistics(*one) for one in sets] for name, sets in both.items()}
    for name, found in rows.items():
        seen = [row for row in found if row["ARI told k"] > SEEN]
        print(f"{name}: {len(seen)} of {len(found)} can be seen")
        rows[name] = seen
    print(f"{'':26}" + "".join(f"{name:>45}" for name in rows))
    for key in rows["real"][0]:
        cells = [np.quantile([row[key] for row in found], QUANTILES) for found in rows.values()]
        print(f"{key:26}" + "".join(f"{value:9.2f}" for value in np.concatenate(cells)))


def _labelled(points: NDArray, labels: NDArray) -> Labelled:
    """Without columns in which nothing varies."""
    return Labelled(points[:, points.std(0) > 1e-6].astype(np.float64), labels)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
