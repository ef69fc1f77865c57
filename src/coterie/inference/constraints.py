"""Constraints on the clusters, and rules that satisfy them.

Constraints are applied to the rule, whichever method found the clusters: clusters are dissolved,
merged (`rules/merged.py`) or divided (`rules/divided.py`). Each operation is pointwise, so it also
applies to new points. Consolidation already searches within the range of k; here the range is
enforced.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from coterie.inference.assignment import CHUNK_SIZE, Points, apply_labels, cluster_sizes
from coterie.inference.result import NOISE
from coterie.inference.rules.divided import with_cuts
from coterie.inference.rules.merged import with_merges
from coterie.inference.rules.protocol import Rule

Counts = NDArray[np.float64]

ALL_NOISE = "every row would be noise: the network is undecided, so no row is labelled noise"


@dataclass(frozen=True)
class Constraints:
    """Constraints on the clusters of n fitted points; none by default.

    at_least, at_most: bounds on the number of non-empty clusters; min_cluster_size: the minimum
    number of points in each, where at_least permits it; noise: whether points that fit no cluster
    are labelled noise.
    """

    at_least: int = 1
    at_most: int | None = None
    min_cluster_size: int = 1
    noise: bool = False

    @classmethod
    def of(
        cls, n_clusters: int | Sequence[int] | None, min_cluster_size: int, noise: bool
    ) -> "Constraints":
        """From a number of clusters or a range (low, high)."""
        if n_clusters is None:
            return cls(1, None, min_cluster_size, noise)
        bounds = n_clusters if isinstance(n_clusters, Sequence) else (n_clusters, n_clusters)
        whole = all(
            isinstance(each, int | np.integer) and not isinstance(each, bool) for each in bounds
        )
        if len(bounds) != 2 or not whole or not 1 <= bounds[0] <= bounds[1]:
            raise ValueError(
                "n_clusters must be a number, or a range (low, high) with 1 <= low <= high, got"
                f" {n_clusters!r}"
            )
        return cls(int(bounds[0]), int(bounds[1]), min_cluster_size, noise)

    def check(self, n_points: int) -> None:
        """Raise if no clustering of n points can satisfy the constraints."""
        if self.at_least > n_points:
            raise ValueError(f"n_clusters={self.at_least} exceeds the number of rows, {n_points}")
        if self.at_least > 1 and self.at_least * self.min_cluster_size > n_points:
            raise ValueError(
                f"n_clusters={self.at_least} with min_cluster_size={self.min_cluster_size} needs"
                f" {self.at_least * self.min_cluster_size} rows, but there are {n_points}"
            )


class Constrained(NamedTuple):
    """A constrained rule, whether it labels noise, and warnings about unsatisfied constraints."""

    rule: Rule
    noise: bool
    warnings: tuple[str, ...]


def apply_constraints(
    rule: Rule,
    points: Points,
    context: NDArray[np.float32],
    constraints: Constraints,
    *,
    counts: Counts | None = None,
    chunk_size: int = CHUNK_SIZE,
) -> Constrained:
    """The rule with the constraints applied.

    points (n, D) are all fitted points, context (m, D) is a subset of them. Cluster sizes are
    counted over all points, weighted by counts (n,). The clusters to merge and divide are chosen on
    the context, and each resulting cluster has points there.
    """
    if constraints == Constraints() and counts is None:
        return Constrained(rule, False, ())
    noise = constraints.noise

    def sized(rule: Rule) -> Rule:
        rule = without_small(
            rule,
            points,
            constraints.min_cluster_size,
            counts=counts,
            chunk_size=chunk_size,
            noise=noise,
        )
        return without_empty(rule, context, noise=noise)

    constrained = sized(rule)
    if noise and (apply_labels(constrained, context, noise=True) == NOISE).all():
        rest = replace(constraints, noise=False)
        without_noise = apply_constraints(
            rule, points, context, rest, counts=counts, chunk_size=chunk_size
        )
        return without_noise._replace(warnings=(ALL_NOISE,))
    if constraints.at_most is not None and constrained.n_clusters > constraints.at_most:
        constrained = sized(with_merges(constrained, context, constraints.at_most, noise=noise))
    if constrained.n_clusters < constraints.at_least:
        share = len(context) / (len(points) if counts is None else counts.sum())
        min_size = max(1, round(constraints.min_cluster_size * share))
        constrained = with_cuts(
            constrained, context, constraints.at_least, min_size=min_size, noise=noise
        )
    return Constrained(constrained, noise, ())


def without_small(
    rule: Rule,
    points: Points,
    min_size: int,
    *,
    counts: Counts | None = None,
    chunk_size: int = CHUNK_SIZE,
    noise: bool = False,
) -> Rule:
    """A rule whose clusters all have at least min_size of the points (n, D), or with one cluster.

    The smallest cluster is removed first, on ties the one found last. Its points move to their next
    most probable cluster, so other small clusters may still grow. With noise, they may become
    noise instead.
    """
    if min_size == 1:
        return rule
    labels = apply_labels(rule, points, chunk_size, noise=noise)
    while rule.n_clusters > 1:
        sizes = cluster_sizes(labels, rule.n_clusters, counts)
        smallest = len(sizes) - 1 - int(sizes[::-1].argmin())
        if sizes[smallest] >= min_size:
            break
        rule = _select(rule, np.delete(np.arange(len(sizes)), smallest))
        if noise:  # more points may fit no cluster now
            labels = apply_labels(rule, points, chunk_size, noise=True)
            continue
        reassigned = np.flatnonzero(labels == smallest)
        labels[labels > smallest] -= 1
        if len(reassigned):  # a cluster may be empty, and a frame or an encoder may need a row
            labels[reassigned] = apply_labels(rule, points[reassigned], chunk_size)
    return rule


def without_empty(rule: Rule, points: Points, *, noise: bool = False) -> Rule:
    """A rule whose clusters all have some of the points (n, D), or with a single cluster."""
    while True:
        sizes = cluster_sizes(apply_labels(rule, points, noise=noise), rule.n_clusters)
        if sizes.all() or not sizes.any():
            return rule
        # Repeat: with noise, points that only fitted an empty cluster fit none now.
        rule = _select(rule, np.flatnonzero(sizes))


def _select(rule: Rule, clusters: NDArray[np.intp]) -> Rule:
    return rule.select(torch.from_numpy(clusters).to(rule.device))
