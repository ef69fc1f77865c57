"""A rule with more clusters: those that are best described as two are cut.

Near a cut the probability is divided smoothly between the two parts. If a part would thereby lose
its points to another cluster the cut is sharp, so that each cut adds exactly one cluster.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import logsigmoid

from coterie.inference.assignment import Assignment, apply, cluster_sizes
from coterie.inference.result import NOISE
from coterie.inference.rules.cuts import SHARP, Cut, Offer, best_cut
from coterie.inference.rules.protocol import Rule


@dataclass(frozen=True)
class DividedRule:
    """A rule some of whose clusters are cut in two, one cut after another.

    The probability of a part is that of its cluster times that of its side. The near side of a cut
    keeps the index of the cluster, the far side gets the next free one.
    """

    rule: Rule
    cuts: tuple[Cut, ...]
    clusters: Tensor  # (K,), indices of the selected clusters and parts, in order

    @classmethod
    def of(cls, rule: Rule, cuts: tuple[Cut, ...]) -> "DividedRule":
        """The rule with all parts."""
        return cls(rule, cuts, torch.arange(rule.n_clusters + len(cuts), device=rule.device))

    @property
    def device(self) -> torch.device:
        return self.rule.device

    @property
    def n_clusters(self) -> int:
        return len(self.clusters)

    def log_probabilities(self, points: Tensor) -> Tensor:
        parts = self.divided(self.rule.log_probabilities(points), points)
        return parts[:, self.clusters].log_softmax(-1)

    def divided(self, whole: Tensor, points: Tensor) -> Tensor:
        """Log-probabilities (M, K) of the rule's clusters for points (M, D), shared by the cuts."""
        n_whole = self.rule.n_clusters
        parts = points.new_empty(len(points), n_whole + len(self.cuts), dtype=torch.float64)
        parts[:, :n_whole] = whole
        for number, cut in enumerate(self.cuts, n_whole):
            odds = cut.log_odds(points)
            parts[:, number] = parts[:, cut.cluster] + logsigmoid(odds)
            parts[:, cut.cluster] += logsigmoid(-odds)
        return parts

    def root(self, part: int) -> int:
        """The rule's cluster of which a part was cut."""
        n_whole = self.rule.n_clusters
        while part >= n_whole:
            part = self.cuts[part - n_whole].cluster
        return part

    @property
    def width(self) -> int:
        """The number of columns of the points."""
        return len(self.cuts[0].axis)

    def unwanted(self, points: Tensor) -> Tensor:
        return self.rule.unwanted(points)

    def select(self, clusters: Tensor) -> "DividedRule":
        return replace(self, clusters=self.clusters[clusters])


def with_cuts(
    rule: Rule,
    points: NDArray[np.float32],
    at_least: int,
    *,
    min_size: int = 1,
    noise: bool = False,
) -> DividedRule:
    """Cut clusters until at least at_least of them have some of the points (n, D).

    Every cluster of the rule must have some. Parts have at least min_size points as long as that is
    possible, and one afterwards.
    """
    parts = apply(rule, points, noise=noise)
    places = torch.tensor(points)
    cuts: list[Cut] = []
    offers: dict[int, Offer | None] = {}  # of the clusters whose points have not changed
    while (k := rule.n_clusters + len(cuts)) < at_least:
        for cluster in set(range(k)) - set(offers):
            offers[cluster] = best_cut(places[parts.labels == cluster], cluster, min_size)
        possible = [offer for offer in offers.values() if offer is not None]
        if not possible and min_size > 1:
            min_size, offers = 1, {}
            continue
        if not possible:
            raise ValueError(
                f"n_clusters={at_least} is too many: of the {len(places):,} rows in the context"
                f" only {k} are distinct in the network's coordinates"
                f"{' and not noise' if noise else ''}"
            )
        best = max(possible, key=lambda offer: (offer.pays, offer.worth))
        cut, after = _carried_out(best.cut, places, parts, min_size)
        moved = parts.labels != after.labels
        for cluster in {*parts.labels[moved].tolist(), *after.labels[moved].tolist()}:
            offers.pop(cluster, None)
        cuts.append(cut)
        parts = after
    return DividedRule.of(rule, tuple(cuts))


def _carried_out(
    cut: Cut, points: Tensor, before: Assignment, min_size: int
) -> tuple[Cut, Assignment]:
    """A cut and the new assignment; the cut is sharp if a smooth one leaves a side too small."""
    k = before.probabilities.shape[1]
    gentle = _parted(cut, points, before)
    sizes = cluster_sizes(gentle.labels, k + 1)
    if sizes.all() and min(sizes[cut.cluster], sizes[-1]) >= min_size:
        return cut, gentle
    sharp = replace(cut, slope=SHARP)
    return sharp, _parted(sharp, points, before)


def _parted(cut: Cut, points: Tensor, before: Assignment) -> Assignment:
    """The assignment of points (n, D) after a cut; the far side is the last cluster."""
    near = logsigmoid(-cut.log_odds(points)).exp().numpy()
    probabilities = np.column_stack([before.probabilities, before.probabilities[:, cut.cluster]])
    probabilities[:, cut.cluster] *= near
    probabilities[:, -1] *= 1 - near
    labels = np.where(before.labels == NOISE, NOISE, probabilities.argmax(1))
    return Assignment(labels, probabilities)
