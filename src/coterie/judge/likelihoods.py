"""What Gaussians tell of partitions: likelihoods, rules that hold elsewhere, valleys between."""

import numpy as np
from numpy.typing import NDArray

from coterie.judge.agreement import Members, starts_of
from coterie.judge.gaussians import moments_of, quadratic_terms, weighted_forms

Array = NDArray[np.float64]
Owner = NDArray[np.intp]

GAUSSIAN_AXES = 8


def about_gaussians(
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


def about_gaps(
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
