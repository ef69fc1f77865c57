"""What the judge is told of each candidate: numbers without units, for all candidates at once.

Every cluster of every candidate is a column of one indicator matrix, so that moments, likelihoods
and distances of all of them are a few matrix products.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.judge.agreement import Members, agreements, members_of, starts_of
from coterie.judge.candidates import Candidate
from coterie.judge.distances import about_distances
from coterie.judge.likelihoods import about_gaps, about_gaussians
from coterie.judge.views import axes_above_noise, singular_values

Array = NDArray[np.float64]
Owner = NDArray[np.intp]

ARMS = ("net", "second", "full", "refined", "merged", "diag", "kmeans", "graph")
MOST_ROWS = 600  # of a set are looked at
LEAST = np.exp(-50)


class Evidence(NamedTuple):
    """What is known of C candidates: features (C, F), their agreement (C, C) and k (C,)."""

    features: NDArray[np.float32]
    agreement: NDArray[np.float32]
    k: NDArray[np.intp]


def weigh(units: Array, turned: NDArray[np.float32], candidates: Sequence[Candidate]) -> Evidence:
    """The evidence on candidates for standardised columns (n, d) and their axes (n, m)."""
    labels: NDArray[np.integer] = np.stack([each.labels for each in candidates])
    agreement = agreements(*members_of(labels))
    k = labels.max(1).astype(np.intp) + 1
    n_rows = len(units)
    rows = np.linspace(0, len(units) - 1, min(n_rows, MOST_ROWS)).astype(np.intp)
    units, turned, labels = units[rows], turned[rows], _renumbered(labels[:, rows])
    members, owner = members_of(labels)
    columns = {
        **_about_set(units, n_rows, k),
        **_about_sizes(members, owner),
        **_about_origin(candidates),
        **about_distances(turned, labels, members, owner),
        **about_gaussians(turned, labels, members, owner),
        **about_gaps(turned, labels, members, owner),
    }
    table = np.stack([np.broadcast_to(columns[name], len(labels)) for name in columns], 1)
    table = np.nan_to_num(table, nan=0.0, posinf=50.0, neginf=-50.0)
    return Evidence(table.astype(np.float32), agreement.astype(np.float32), k)


def feature_names() -> tuple[str, ...]:
    """The names of the features, in their order."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3))
    one = Candidate("net", "all", 3, 0, np.repeat(np.arange(2), 20).astype(np.int16), 0.5)
    labels = np.stack([one.labels])
    members, owner = members_of(labels)
    turned = points.astype(np.float32)
    names = [
        *_about_set(points, 40, np.array([2])),
        *_about_sizes(members, owner),
        *_about_origin([one]),
        *about_distances(turned, labels, members, owner),
        *about_gaussians(turned, labels, members, owner),
        *about_gaps(turned, labels, members, owner),
    ]
    return tuple(names)


def _about_set(units: Array, n_all: int, k: NDArray[np.intp]) -> dict[str, Array]:
    n_rows, d = units.shape
    singular = singular_values(units)
    share = singular**2 / max(1e-12, (singular**2).sum())
    ordered = np.sort(np.ascontiguousarray(units.T))
    few = 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(1) < 0.1 * n_rows  # distinct values
    kurtosis = (units**4).mean(0) / np.maximum((units**2).mean(0) ** 2, 1e-12)
    once = {
        "log rows": np.log(n_all),
        "log columns": np.log(d),
        "log axes in use": -np.log((share**2).sum()),
        "log axes above noise": np.log1p(axes_above_noise(singular, n_rows, d)),
        "share of first axis": share[0],
        "few values": few.mean(),
        "kurtosis": np.log(max(float(np.median(kurtosis)), LEAST)),  # 0: constant columns
        "skewness": np.median(np.abs((units**3).mean(0))),
        "log median k": np.log(np.median(k)),
        "share of ones": (k == 1).mean(),
    }
    each = {"log k": np.log(k), "one": (k == 1) * 1.0, "two": (k == 2) * 1.0}
    return {name: np.asarray(value) for name, value in {**once, **each}.items()}


def _about_sizes(members: Members, owner: Owner) -> dict[str, Array]:
    share = members.mean(0).astype(np.float64)
    starts = starts_of(owner)
    k = np.bincount(owner)
    entropy = -np.add.reduceat(share * np.log(np.maximum(share, 1e-12)), starts)
    smallest = np.minimum.reduceat(share, starts)
    return {
        "evenness": np.where(k > 1, entropy / np.log(np.maximum(k, 2)), 1.0),
        "largest share": np.maximum.reduceat(share, starts),
        "log smallest share": np.log(smallest),
        "log smallest size": np.log(smallest * len(members)),
        "share of small clusters": np.add.reduceat((share < 0.02) * 1.0, starts) / k,
    }


def _about_origin(candidates: Sequence[Candidate]) -> dict[str, Array]:
    columns = {arm: np.array([each.arm == arm for each in candidates]) * 1.0 for arm in ARMS}
    columns["log axes"] = np.log([each.axes for each in candidates])
    columns["sure"] = np.nan_to_num(np.array([each.sure for each in candidates]))
    columns["rank"] = np.array([each.rank for each in candidates]) * 1.0
    columns["in ranks"] = np.array([each.view.startswith("rank") for each in candidates]) * 1.0
    columns["default"] = (
        np.array([each.view == "all" and each.arm in ARMS[:2] for each in candidates]) * 1.0
    )
    return columns


def _renumbered(labels: NDArray[np.integer]) -> NDArray[np.integer]:
    """Partitions (C, n) of some rows, their clusters 0..k-1 without gaps."""
    return np.stack([np.unique(own, return_inverse=True)[1] for own in labels])
