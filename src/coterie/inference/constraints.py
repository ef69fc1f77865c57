"""Constraints on the clusters, and rules that satisfy them.

Whatever found the clusters, constraints are applied to its rule: clusters are dissolved, merged
(`rules/merged.py`) or divided (`rules/divided.py`). Each operation is pointwise, so it holds for
new points too. Consolidation already searches within the range of k; here the range is enforced.
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

    at_least, at_most: how many clusters have points; min_cluster_size: how many points each has,
    unless their number forbids it; noise: whether points that no cluster wants are left out.
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
        whole = all(isinstance(each, int | np.integer) for each in bounds)
        if len(bounds) != 2 or not whole or not 1 <= bounds[0] <= bounds[1]:
            raise ValueError(
                "n_clusters is a number, or a range (low, high) with 1 <= low <= high, not"
                f" {n_clusters!r}"
            )
        return cls(int(bounds[0]), int(bounds[1]), min_cluster_size, noise)

    def check(self, n_points: int) -> None:
        """Raise where n points can never have such clusters."""
        if self.at_least > n_points:
            raise ValueError(
                f"n_clusters asks for {self.at_least} clusters, there are {n_points} rows"
            )
        if self.at_least > 1 and self.at_least * self.min_cluster_size > n_points:
            raise ValueError(
                f"n_clusters={self.at_least} with min_cluster_size={self.min_cluster_size} takes"
                f" {self.at_least * self.min_cluster_size} rows, there are {n_points}"
            )


class Constrained(NamedTuple):
    """A constrained rule, whether it has noise, and what it could not satisfy."""

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
    """The rule with the constraints applied: points (n, D) are all fitted points, of which the
    context (m, D) is a part.

    Sizes are those among all points, weighted by counts (n,). Which clusters are merged and divided
    is decided on the context, where each of them has points in the end.
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
    """A rule whose clusters have at least min_size of the points (n, D), or which has one only.

    The smallest goes first, the latest found among equals; its points take their next choice, so
    that another may still grow. With noise they may have none.
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
        if noise:  # others may have been wanted by this cluster alone
            labels = apply_labels(rule, points, chunk_size, noise=True)
            continue
        homeless = np.flatnonzero(labels == smallest)
        labels[labels > smallest] -= 1
        labels[homeless] = apply_labels(rule, points[homeless], chunk_size)
    return rule


def without_empty(rule: Rule, points: Points, *, noise: bool = False) -> Rule:
    """A rule all of whose clusters have some of the points (n, D), or which has one only."""
    while True:
        sizes = cluster_sizes(apply_labels(rule, points, noise=noise), rule.n_clusters)
        if sizes.all() or not sizes.any():
            return rule
        # Once more with noise: others may have been wanted by an empty cluster alone.
        rule = _select(rule, np.flatnonzero(sizes))


def _select(rule: Rule, clusters: NDArray[np.intp]) -> Rule:
    return rule.select(torch.from_numpy(clusters).to(rule.device))
