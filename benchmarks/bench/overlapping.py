"""Overlapping mixtures in 2 to 64 columns whose Bayes rule is known.

Clusters are Gaussians with their own covariances in a few informative directions. All other columns
are uninformative: one correlated Gaussian for all clusters. In half of the sets the columns are
rotated, so that every column mixes all directions. The clusters are moved apart until the Bayes
rule reaches a randomly drawn ARI of 0.9 to 0.99.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from coterie.metrics import ari

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# The number of points of a cluster per column; with fewer, its covariance cannot be estimated.
POINTS_PER_COLUMN = 10
LEAST_PER_CLUSTER = 40


class Overlapping(NamedTuple):
    """Points (n, d) and labels (n,) of one set, and the labels (n,) that the Bayes rule gives."""

    points: Array
    labels: Labels
    bayes: Labels


class Clusters(NamedTuple):
    """K Gaussians in the informative directions: (K,), (K, R), factors (K, R, R) of covariances."""

    log_weight: Array
    mean: Array
    factor: Array


def draw_overlapping(generator: np.random.Generator, n: int | None = None) -> Overlapping:
    """One set of n points, or else 200 to 2,000, in 2 to 64 columns, 1 to 10 clusters."""
    d = round(float(np.exp(generator.uniform(np.log(2), np.log(64)))))
    each = max(LEAST_PER_CLUSTER, POINTS_PER_COLUMN * d)
    k = int(generator.integers(1, min(10, 2000 // each) + 1))
    if n is None:
        n = round(float(np.exp(generator.uniform(np.log(max(200, k * each)), np.log(2000)))))
    informative = max(2, round(d * generator.uniform(0.3, 1.0)))
    clusters = _clusters(k, informative, generator)
    labels = generator.choice(k, n, p=np.exp(clusters.log_weight))
    noise = generator.standard_normal((n, informative))
    target = generator.uniform(0.9, 0.99)
    clusters = _moved_apart(clusters, labels, noise, target)
    seen = _place(clusters, labels, noise)
    bayes = _posterior(clusters, seen).argmax(1)
    points = np.concatenate([seen, _useless(n, d - informative, generator)], 1)
    if generator.random() < 0.5:
        turn = np.linalg.qr(generator.standard_normal((d, d)))[0]
        points = (points / points.std(0)) @ turn
    scales = np.exp(generator.normal(0, 1, d))
    order = generator.permutation(d)
    return Overlapping((points * scales)[:, order], labels, bayes)


def _clusters(k: int, r: int, generator: np.random.Generator) -> Clusters:
    weight = 0.5 / k + 0.5 * generator.dirichlet(np.full(k, 2.0))
    common = np.eye(r) + generator.uniform(0, 0.7) * generator.standard_normal((r, r)) / np.sqrt(r)
    # By 1 / r: otherwise clusters with the same mean would not overlap in many columns.
    own = np.eye(r) + generator.uniform(0, 1) * generator.standard_normal((k, r, r)) / r
    size = np.exp(generator.normal(0, 0.25, k))[:, None, None]
    return Clusters(np.log(weight), generator.standard_normal((k, r)), size * (own @ common))


def _moved_apart(clusters: Clusters, labels: Labels, noise: Array, target: float) -> Clusters:
    """The clusters with means moved apart until the Bayes rule reaches the target agreement."""
    low, high = 0.0, 64.0
    if len(clusters.log_weight) == 1:
        return clusters
    for _ in range(20):
        middle = 0.5 * (low + high)
        moved = clusters._replace(mean=middle * clusters.mean)
        seen = _place(moved, labels, noise)
        if ari(labels, _posterior(moved, seen).argmax(1)) < target:
            low = middle
        else:
            high = middle
    return clusters._replace(mean=high * clusters.mean)


def _place(clusters: Clusters, labels: Labels, noise: Array) -> Array:
    turned = np.einsum("nab,nb->na", clusters.factor[labels], noise)
    placed: Array = clusters.mean[labels] + turned
    return placed


def _posterior(clusters: Clusters, points: Array) -> Array:
    """The log-posteriors (n, K) of the clusters under the true parameters."""
    inverse = np.linalg.inv(clusters.factor)
    z = np.einsum("kab,nkb->nka", inverse, points[:, None] - clusters.mean)
    joint = np.linalg.slogdet(inverse)[1] - 0.5 * np.square(z).sum(-1) + clusters.log_weight
    posterior: Array = joint - logsumexp(joint, axis=1, keepdims=True)
    return posterior


def _useless(n: int, d: int, generator: np.random.Generator) -> Array:
    """Uninformative columns: a few common factors plus independent noise."""
    factors = max(1, d // 4)
    loadings = generator.uniform(0, 1) * generator.standard_normal((factors, d)) / np.sqrt(factors)
    own: Array = generator.standard_normal((n, d))
    return own + generator.standard_normal((n, factors)) @ loadings
