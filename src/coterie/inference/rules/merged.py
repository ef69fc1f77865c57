"""A rule with fewer clusters: those that are hardest to distinguish are merged."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coterie.inference.assignment import apply
from coterie.inference.result import NOISE
from coterie.inference.rules.protocol import Rule
from coterie.mixtures.em import Array

# A share of the smaller cluster's points; pairs with less overlap count as well separated.
CONFUSED = 0.01


@dataclass(frozen=True)
class MergedRule:
    """A rule with merged clusters: the probabilities of each group are added."""

    rule: Rule
    groups: tuple[tuple[int, ...], ...]  # K groups of the rule's clusters

    @property
    def device(self) -> torch.device:
        return self.rule.device

    @property
    def n_clusters(self) -> int:
        return len(self.groups)

    def log_probabilities(self, points: Tensor) -> Tensor:
        single = self.rule.log_probabilities(points)
        return torch.stack([single[:, list(group)].logsumexp(1) for group in self.groups], 1)

    def unwanted(self, points: Tensor) -> Tensor:
        return self.rule.unwanted(points)

    def select(self, clusters: Tensor) -> "MergedRule":
        kept = [self.groups[cluster] for cluster in clusters.tolist()]
        members = [member for group in kept for member in group]
        ends = np.cumsum([len(group) for group in kept]).tolist()
        groups = (
            tuple(range(end - len(group), end)) for group, end in zip(kept, ends, strict=True)
        )
        return MergedRule(self.rule.select(clusters.new_tensor(members)), tuple(groups))


def with_merges(
    rule: Rule, points: NDArray[np.float32], at_most: int, *, noise: bool = False
) -> MergedRule:
    """Merge clusters until at most at_most of them have some of the points (n, D)."""
    labels, probabilities = apply(rule, points, noise=noise)
    inside = labels != NOISE
    places, memberships = points[inside].astype(np.float64), probabilities[inside]
    groups: list[tuple[int, ...]] = [(cluster,) for cluster in range(rule.n_clusters)]
    while len(groups) > at_most:
        first, second = closest_pair(places, memberships)
        memberships[:, first] += memberships[:, second]
        groups[first] += groups[second]
        # The merged cluster may take all points of a third, which is then dropped.
        sizes = np.bincount(np.delete(memberships, second, 1).argmax(1), minlength=len(groups) - 1)
        kept = np.delete(np.arange(len(groups)), second)[sizes > 0]
        memberships, groups = memberships[:, kept], [groups[each] for each in kept]
    return MergedRule(rule, tuple(groups))


def closest_pair(points: Array, memberships: Array) -> tuple[int, int]:
    """The two clusters to merge first: points (n, D), memberships (n, K), no cluster empty.

    This is the pair with the largest overlap relative to the smaller of the two. If no overlap
    exceeds CONFUSED, it is the pair whose union adds least to the within-cluster scatter (Ward).
    """
    mass = memberships.sum(0)
    shared = memberships.T @ memberships / np.minimum(mass[:, None], mass)
    np.fill_diagonal(shared, 0.0)
    if shared.max() > CONFUSED:
        first, second = divmod(int(shared.argmax()), len(mass))
        return min(first, second), max(first, second)
    return _nearest_means(points, memberships.argmax(1), len(mass))


def _nearest_means(points: Array, labels: NDArray[np.intp], n_clusters: int) -> tuple[int, int]:
    members = (labels == np.arange(n_clusters)[:, None]).astype(np.float64)  # (K, n)
    sizes = members.sum(1)
    means = members @ points / sizes[:, None]
    first, second = np.triu_indices(n_clusters, 1)
    distance = np.square(means[first] - means[second]).sum(1)
    scatter = distance * sizes[first] * sizes[second] / (sizes[first] + sizes[second])
    best = int(scatter.argmin())
    return int(first[best]), int(second[best])
