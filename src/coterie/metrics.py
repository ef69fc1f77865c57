"""Clustering metrics, as defined in the papers."""

import math

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import (
    adjusted_rand_score,
    davies_bouldin_score,
    normalized_mutual_info_score,
)
from sklearn.metrics.cluster import contingency_matrix

from coterie.functional.em import expectation, maximisation
from coterie.functional.partitions import one_hot


def accuracy(labels_true: ArrayLike, labels: ArrayLike) -> float:
    """ACC: share of points in the best one-to-one matching; unmatched clusters are errors."""
    return float(rightly_clustered(labels_true, labels).mean())


def rightly_clustered(labels_true: ArrayLike, labels: ArrayLike) -> NDArray[np.bool_]:
    """Which points (n,) are correct under the best one-to-one matching of clusters."""
    truth, found = (np.unique(each, return_inverse=True)[1] for each in (labels_true, labels))
    table = contingency_matrix(truth, found)
    matched = np.zeros(table.shape, dtype=bool)
    matched[linear_sum_assignment(-table)] = True
    return matched[truth, found]


def nmi(labels_true: ArrayLike, labels: ArrayLike) -> float:
    """Mutual information over the geometric mean of the entropies (AMCP, appendix C.1)."""
    return float(normalized_mutual_info_score(labels_true, labels, average_method="geometric"))


def ari(labels_true: ArrayLike, labels: ArrayLike) -> float:
    """Adjusted Rand index (Hubert and Arabie 1985)."""
    return float(adjusted_rand_score(labels_true, labels))


def dbi(points: ArrayLike, labels: ArrayLike) -> float:
    """Davies-Bouldin index, lower is better; NaN unless there are 2 to n - 1 clusters."""
    points, labels = np.asarray(points), np.asarray(labels)
    if not 2 <= len(np.unique(labels)) < len(points):
        return math.nan
    return float(davies_bouldin_score(points, labels))


def k_error(labels_true: ArrayLike, labels: ArrayLike) -> int:
    """Absolute error of the number of clusters; its mean over sets is the papers' k-MAE."""
    return abs(len(np.unique(np.asarray(labels_true))) - len(np.unique(np.asarray(labels))))


def gaussian_log_likelihood(points: ArrayLike, labels: ArrayLike) -> float:
    """Mean log-likelihood per point of the diagonal mixture estimated from the labels.

    Weights, means and variances are the maximum-likelihood estimates from the hard labels. Each
    variance includes one pseudo-observation of the pooled variance, so that a cluster of one point
    does not make the likelihood infinite.
    """
    _, numbered = np.unique(np.asarray(labels), return_inverse=True)
    member = torch.from_numpy(numbered)
    table = torch.as_tensor(np.asarray(points, dtype=np.float64))
    memberships = one_hot(member, int(member.max()) + 1).double()
    mixture = maximisation(table, memberships, pseudo_count=1.0, variance_floor=1e-12)
    return float(expectation(table, mixture)[1].mean())
