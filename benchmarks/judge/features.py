"""What the judge is told of each candidate: numbers without units, for all candidates at once.

Every cluster of every candidate is a column of one indicator matrix, so that moments, likelihoods
and distances of all of them are a few matrix products.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from judge.agreement import Members, agreements, members_of, starts_of
from judge.candidates import Candidate
from judge.gaussians import moments_of, quadratic_terms, weighted_forms
from judge.views import axes_above_noise

Array = NDArray[np.float64]
Owner = NDArray[np.intp]

ARMS = ("net", "small", "full", "refined", "merged", "diag", "kmeans", "graph")
MOST_ROWS = 600  # of a set are looked at; of these SOME_ROWS for distances between all pairs
SOME_ROWS = 400
GAUSSIAN_AXES = 8
NEIGHBOURS = 10


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
        **_about_distances(turned, labels, members, owner),
        **_about_gaussians(turned, labels, members, owner),
        **_about_gaps(turned, labels, members, owner),
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
        *_about_distances(turned, labels, members, owner),
        *_about_gaussians(turned, labels, members, owner),
        *_about_gaps(turned, labels, members, owner),
    ]
    return tuple(names)


def _about_set(units: Array, n_all: int, k: NDArray[np.intp]) -> dict[str, Array]:
    n_rows, d = units.shape
    singular = np.linalg.svd(units - units.mean(0), compute_uv=False)
    share = singular**2 / max(1e-12, (singular**2).sum())
    few = np.array([len(np.unique(column)) for column in units.T]) < 0.1 * n_rows
    kurtosis = (units**4).mean(0) / np.maximum((units**2).mean(0) ** 2, 1e-12)
    once = {
        "log rows": np.log(n_all),
        "log columns": np.log(d),
        "log axes in use": -np.log((share**2).sum()),
        "log axes above noise": np.log1p(axes_above_noise(units)),
        "share of first axis": share[0],
        "few values": few.mean(),
        "kurtosis": np.log(np.median(kurtosis)),
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
    columns["unmixed"] = np.array([each.view.startswith("unmixed") for each in candidates]) * 1.0
    columns["default"] = (
        np.array([each.view == "all" and each.arm in ARMS[:2] for each in candidates]) * 1.0
    )
    return columns


def _about_distances(
    turned: NDArray[np.float32], labels: NDArray[np.integer], members: Members, owner: Owner
) -> dict[str, Array]:
    """Silhouettes, neighbours and variances, by all axes and by the first three."""
    columns: dict[str, Array] = {}
    n_rows = len(turned)
    rows = np.linspace(0, n_rows - 1, min(n_rows, SOME_ROWS)).astype(np.intp)
    starts = starts_of(owner)
    k = np.bincount(owner)
    for tail, points in (("", turned), (" of three axes", turned[:, :3])):
        near = cKDTree(points).query(points[rows], k=min(n_rows, NEIGHBOURS + 1))[1][:, 1:]
        same = (labels[:, near] == labels[:, rows, None]).mean((1, 2))
        size = members.sum(0).astype(np.float64)
        chance = np.add.reduceat((size / n_rows) ** 2, starts)
        columns["neighbours agree" + tail] = same
        columns["neighbours agree beyond chance" + tail] = np.where(
            k > 1, (same - chance) / np.maximum(1 - chance, 1e-9), 0.0
        )
        some = points[rows].astype(np.float32)
        square = (some**2).sum(1)
        distance = np.sqrt(np.maximum(square[:, None] + square - 2 * some @ some.T, 0))
        own = members[rows]
        count = own.sum(0)
        total = (distance @ own).astype(np.float64)  # (r, S)
        silhouette = np.zeros(len(k))
        worst = np.zeros(len(k))
        for number, (start, n_clusters) in enumerate(zip(starts, k, strict=True)):
            if n_clusters == 1:
                continue
            part = slice(start, start + n_clusters)
            mine = labels[number, rows]
            place = np.arange(len(rows)), mine
            mean = total[:, part] / np.maximum(count[part], 1)
            inside = total[:, part][place] / np.maximum(count[part][mine] - 1, 1)
            mean[place] = np.inf
            mean[:, count[part] == 0] = np.inf
            outside = mean.min(1)
            outside[~np.isfinite(outside)] = 0
            value = (outside - inside) / np.maximum(np.maximum(outside, inside), 1e-12)
            value[count[part][mine] <= 1] = 0
            silhouette[number] = value.mean()
            sums = np.bincount(mine, value, minlength=n_clusters)
            worst[number] = (sums / np.maximum(count[part], 1)).min()
        columns["silhouette" + tail] = silhouette
        columns["worst silhouette" + tail] = worst
        centred = points - points.mean(0)
        size = np.maximum(members.sum(0), 1)
        means = (members.T @ centred) / size[:, None]
        between = np.add.reduceat((means**2).sum(1) * size, starts).astype(np.float64)
        explained = between / max(1e-12, float((centred**2).sum()))
        columns["variance explained" + tail] = explained
        columns["log Calinski-Harabasz" + tail] = np.log1p(
            explained
            / np.maximum(1 - explained, 1e-6)
            * (n_rows - k)
            / np.maximum(k - 1, 1)
            * (k > 1)
        )
    return columns


def _about_gaussians(
    turned: NDArray[np.float32], labels: NDArray[np.integer], members: Members, owner: Owner
) -> dict[str, Array]:
    """Classification likelihoods with a price for parameters, and rules learnt on half the rows."""
    points = turned[:, :GAUSSIAN_AXES].astype(np.float64)
    points = points - points.mean(0)
    points = points[:, points.std(0) > 1e-6]
    n_rows, d = points.shape
    starts, k = starts_of(owner), np.bincount(owner)
    quadratic = quadratic_terms(points)
    moments = moments_of(members, quadratic, d)
    eye = np.eye(d, dtype=bool)
    pooled = np.add.reduceat(moments.mass[:, None, None] * moments.covariance, starts) / n_rows
    kinds = {
        "full": (moments.covariance, k * (d + d * (d + 1) / 2) + k - 1),
        "diagonal": (np.where(eye, moments.covariance, 0.0), k * 2 * d + k - 1),
        "tied": (pooled[owner], k * d + d * (d + 1) / 2 + k - 1),
    }
    columns: dict[str, Array] = {}
    whole = np.cov(points.T, bias=True).reshape(d, d) + 1e-6 * np.eye(d)
    alone = {
        "full": (np.linalg.slogdet(whole)[1], d + d * (d + 1) / 2),
        "diagonal": (np.log(np.diag(whole)).sum(), 2 * d),
        "tied": (np.linalg.slogdet(whole)[1], d + d * (d + 1) / 2),
    }
    for kind, (covariance, n_free) in kinds.items():
        log_joint = quadratic @ weighted_forms(moments, covariance, n_rows).T  # (n, S)
        likelihood = np.zeros(len(k))
        mixture = np.zeros(len(k))
        holds = np.zeros(len(k))
        for number, (start, n_clusters) in enumerate(zip(starts, k, strict=True)):
            own = log_joint[:, start : start + n_clusters]
            mine = own[np.arange(n_rows), labels[number]]
            top = own.max(1)
            likelihood[number] = mine.mean()
            mixture[number] = (top + np.log(np.exp(own - top[:, None]).sum(1))).mean()
            holds[number] = (mine >= top).mean()
        log_det, n_alone = alone[kind]
        baseline = -0.5 * (log_det + d) - 0.5 * n_alone * np.log(n_rows) / n_rows
        price = 0.5 * n_free * np.log(n_rows) / n_rows
        columns[f"gain of {kind} Gaussians"] = likelihood - price - baseline
        columns[f"mixture gain of {kind} Gaussians"] = mixture - price - baseline
        columns[f"overlap of {kind} Gaussians"] = mixture - likelihood
        columns[f"{kind} rule fits"] = holds
    half = np.arange(n_rows) % 2 == 0
    for kind in ("quadratic", "linear"):
        hits = np.zeros(len(k))
        for learn in (half, ~half):
            part = moments_of(members[learn], quadratic[learn], d)
            covariance = part.covariance
            if kind == "linear":
                mass = np.maximum(np.add.reduceat(part.mass, starts), 1)
                covariance = (
                    np.add.reduceat(part.mass[:, None, None] * covariance, starts)
                    / mass[:, None, None]
                )[owner]
            log_joint = quadratic[~learn] @ weighted_forms(part, covariance, int(learn.sum())).T
            for number, (start, n_clusters) in enumerate(zip(starts, k, strict=True)):
                guess = log_joint[:, start : start + n_clusters].argmax(1)
                hits[number] += (guess == labels[number, ~learn]).sum()
        columns[f"{kind} rule holds"] = hits / n_rows
    return columns


def _about_gaps(
    turned: NDArray[np.float32], labels: NDArray[np.integer], members: Members, owner: Owner
) -> dict[str, Array]:
    """Whether fewer rows lie between two clusters than at their centres.

    Each cluster against its nearest one, along the line between their means in units of their
    common variances: rows in the middle, per length, over rows at the emptier of the two centres.
    """
    points = turned[:, :GAUSSIAN_AXES].astype(np.float64)
    size = np.maximum(members.sum(0), 1).astype(np.float64)
    mean = (members.T @ points) / size[:, None]
    variance = np.maximum((members.T @ points**2) / size[:, None] - mean**2, 1e-4)
    starts, k = starts_of(owner), np.bincount(owner)
    valley, worst = np.zeros(len(k)), np.zeros(len(k))
    for number, (start, n_clusters) in enumerate(zip(starts, k, strict=True)):
        if n_clusters == 1:
            continue
        part = slice(start, start + n_clusters)
        own, spread, weight = mean[part], variance[part], size[part]
        apart = own[:, None] - own  # (k, k, d)
        pooled = spread[:, None] + spread
        distance = (apart**2 / pooled).sum(2)
        np.fill_diagonal(distance, np.inf)
        other = distance.argmin(1)
        index = np.arange(n_clusters)
        direction = (own[other] - own) / pooled[index, other]  # (k, d)
        length = np.maximum((direction * (own[other] - own)).sum(1), 1e-9)
        place = (points @ direction.T - (direction * own).sum(1)) / length  # (n, k): 0 to 1
        mine = labels[number][:, None]
        involved = (mine == index) | (mine == other)
        middle = (involved & (np.abs(place - 0.5) < 0.15)).sum(0) + 0.5
        here = (involved & (np.abs(place) < 0.15)).sum(0) + 0.5
        there = (involved & (np.abs(place - 1) < 0.15)).sum(0) + 0.5
        depth = np.log(np.minimum(here, there) / middle)
        valley[number] = (depth * weight).sum() / weight.sum()
        worst[number] = depth.min()
    return {"valley": valley, "shallowest valley": worst}


def _renumbered(labels: NDArray[np.integer]) -> NDArray[np.integer]:
    """Partitions (C, n) of some rows, their clusters 0..k-1 without gaps."""
    return np.stack([np.unique(own, return_inverse=True)[1] for own in labels])
