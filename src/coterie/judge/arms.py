"""Cheap partitions beside the network's: k-means and Gaussian mixtures at several k."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial import cKDTree
from scipy.special import xlogy

from coterie.judge.agreement import members_of, starts_of
from coterie.judge.gaussians import moments_of, quadratic_terms, weighted_forms

Points = NDArray[np.float64]
Labels = NDArray[np.int16]

TREE_ROWS = 500


class Fitted(NamedTuple):
    """A mixture of Gaussians: labels (n,), its BIC, lower is better, and memberships (n, k)."""

    labels: Labels
    bic: float
    share: NDArray[np.float64]


def ward_cuts(points: Points, ks: Sequence[int]) -> list[Labels]:
    """Ward's tree of points (n, m), cut into each number of clusters.

    Of more than TREE_ROWS points, so many, evenly spaced: the others join the nearest of these.
    """
    n_rows = len(points)
    rows = np.linspace(0, n_rows - 1, min(n_rows, TREE_ROWS)).astype(np.intp)
    tree = linkage(points[rows], "ward")
    nearest = cKDTree(points[rows]).query(points)[1]
    return [(fcluster(tree, k, "maxclust") - 1).astype(np.int16)[nearest] for k in ks]


def lloyd(points: Points, labels: Labels, n_steps: int = 20) -> Labels:
    """k-means from the clusters of labels (n,)."""
    square = (points**2).sum(1)
    k = int(labels.max()) + 1
    for _ in range(n_steps):
        members = np.eye(k)[labels]  # (n, k)
        centres = members.T @ points / np.maximum(members.sum(0), 1)[:, None]
        distance = square[:, None] - 2 * points @ centres.T + (centres**2).sum(1)
        new = distance.argmin(1).astype(np.int16)
        if (new == labels).all():
            break
        labels = new
    return numbered(labels)


def numbered(labels: NDArray) -> Labels:
    """Labels (n,) as 0..k-1 without gaps."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int16)


def fit_mixtures(
    points: Points, starts: Sequence[Labels], covariance: str = "full", *, n_steps: int = 30
) -> list[Fitted]:
    """Expectation maximisation from several partitions (n,), all of them in the same products.

    covariance: "full" or "diag". Two rows' worth of a tenth of the overall variance is added to
    every cluster's, so that one of equal rows has no infinite density.
    """
    points = points - points.mean(0)
    points = points[:, points.std(0) > 1e-6 * points.std()]
    n_rows, d = points.shape
    terms = quadratic_terms(points)
    members, owner = members_of(np.stack(starts))
    share = members.astype(np.float64)
    first = starts_of(owner)
    for _ in range(n_steps):
        moments = moments_of(share, terms, d)
        fitted = moments.covariance
        if covariance == "diag":
            fitted = np.where(np.eye(d, dtype=bool), fitted, 0.0)
        joint = terms @ weighted_forms(moments, fitted, n_rows).T  # (n, S)
        top = np.maximum.reduceat(joint, first, 1)
        share = np.exp(joint - top[:, owner])
        total = np.add.reduceat(share, first, 1)
        share /= total[:, owner]
    log_likelihood = (top + np.log(total)).sum(0) - n_rows * d / 2 * np.log(2 * np.pi)
    k = np.bincount(owner)
    n_free = k * (d + (d * (d + 1) / 2 if covariance == "full" else d)) + k - 1
    bic = -2 * log_likelihood + n_free * np.log(n_rows)
    ends = [*first[1:], len(owner)]
    return [
        Fitted(numbered(share[:, start:end].argmax(1)), float(value), share[:, start:end])
        for start, end, value in zip(first, ends, bic, strict=True)
    ]


def by_bic(fits: list[Fitted], n_kept: int) -> list[Fitted]:
    """The mixtures of the lowest BIC, the best first."""
    return sorted(fits, key=lambda fit: fit.bic)[:n_kept]


def merged(share: NDArray[np.float64], fewest: int = 2) -> list[Labels]:
    """Partitions by memberships (n, k) whose clusters are joined one by one, from k - 1 on.

    Those two whose union leaves the least doubt about who belongs where (Baudry et al. 2010): a
    cluster that is no Gaussian is several of them, and they overlap.
    """
    found: list[Labels] = []
    while share.shape[1] > fewest:
        doubt = _doubt(share)
        first, second = np.triu_indices(share.shape[1], 1)
        saved = doubt[first] + doubt[second] - _doubt(share[:, first] + share[:, second])
        # Per row concerned, or large clusters would be joined first.
        mass = share.sum(0)
        best = int((saved / (mass[first] + mass[second])).argmax())
        one, other = first[best], second[best]
        joined = share[:, one] + share[:, other]
        share = np.column_stack([np.delete(share, [one, other], 1), joined])
        found.append(numbered(share.argmax(1)))
    return found


def _doubt(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """The entropy that each of some memberships (n, m) has in it: (m,)."""
    return -np.asarray(xlogy(share, share).sum(0))
