"""All partitions of one set that the judge chooses from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.judge.arms import by_bic, fit_mixtures, lloyd, merged, ward_cuts
from coterie.judge.graph import spectral_cuts
from coterie.judge.views import View

Labels = NDArray[np.int16]

GIVEN_KS = (2, 3, 4, 5, 6, 7, 8, 10, 12)
LARGEST_K = 40
MOST_AXES = 16
MOST_MERGED = 16  # components: joining more takes long
LARGEST_MERGED = 8
N_KEPT = 3  # of the mixtures in each view, those of the lowest BIC

VIEWS = ("all", "axes2", "axes4", "axes8", "rank")
MIXTURES = (  # covariances, and the view they are fitted in
    ("diag", "all"),
    ("diag", "rank"),
    ("full", "axes2"),
    ("full", "axes4"),
    ("full", "axes8"),
)
READERS = ("net", "second")  # the arms of networks, the first one the default


class Reading(NamedTuple):
    """A network's partition of n points, labels (n,) 0..k-1, and how sure it is of it, 0 to 1."""

    labels: Labels
    sure: float


@dataclass(frozen=True)
class Candidate:
    """A partition of n points, labels (n,) 0..k-1.

    arm: what made it; view: the frame it was found in; axes: how many that frame has; rank: 0 for
    an arm's own choice of k, 1, 2 ... for the next best, -1 where k was given; sure: a network's
    confidence, nan for other arms.
    """

    arm: str
    view: str
    axes: int
    rank: int
    labels: Labels
    sure: float = float("nan")

    @property
    def k(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def name(self) -> str:
        """What made it, in one word."""
        tail = f":k{self.k}" if self.rank < 0 else f":{self.rank}" if self.rank else ""
        return f"{self.arm}/{self.view}{tail}"


def candidates_of(
    views: Sequence[View], readings: Sequence[Reading], ks: Sequence[int] = GIVEN_KS
) -> list[Candidate]:
    """Each partition once: the networks' readings of all axes, then those of the other arms.

    ks: numbers of clusters to try, beside those near a reading's.
    """
    everything = views[0]
    found = [
        Candidate(arm, "all", everything.points.shape[1], 0, reading.labels, reading.sure)
        for arm, reading in zip(READERS, readings, strict=False)
    ]
    return distinct(found + classical(views, [reading.labels for reading in readings], ks))


def classical(
    views: Sequence[View], proposals: Sequence[Labels] = (), given: Sequence[int] = GIVEN_KS
) -> list[Candidate]:
    """Cuts of a graph, k-means and mixtures of Gaussians in several views.

    proposals: partitions (n,) by a network, from which mixtures are started too; given: numbers of
    clusters that are tried.
    """
    by_name = {view.name: view for view in views}
    everything = views[0]
    n_rows = len(everything.points)
    ks = sorted(k for k in _numbers(proposals, given) if 1 < k < n_rows / 4)
    proposals = [each for each in proposals if 1 < each.max() + 1 <= LARGEST_K]
    found = [
        Candidate("graph", "all", everything.points.shape[1], -1, own)
        for own in spectral_cuts(everything.points, ks)
    ]
    done: set[tuple[str, str]] = set()
    for covariance, name in MIXTURES:
        view = by_name.get(name, everything)
        if (covariance, view.name) not in done:
            done.add((covariance, view.name))
            found += _mixtures(view, covariance, ks, given, proposals)
    return found


def _mixtures(
    view: View,
    covariance: str,
    ks: Sequence[int],
    given: Sequence[int],
    proposals: Sequence[Labels],
) -> list[Candidate]:
    """Mixtures in one view, k-means from which they start, and what joining components gives."""
    points = view.points[:, :MOST_AXES].astype(np.float64)
    n_rows, d = points.shape
    means = [lloyd(points, own) for own in ward_cuts(points, ks)]
    found = []
    if covariance == "diag":
        found += [
            Candidate("kmeans", view.name, d, -1, own)
            for k, own in zip(ks, means, strict=True)
            if k in given
        ]
    starts = [np.zeros(n_rows, dtype=np.int16), *means]
    fits = fit_mixtures(points, [each for each in starts if _affordable(each, d)], covariance)
    found += [
        Candidate(covariance, view.name, d, rank, fit.labels)
        for rank, fit in enumerate(by_bic(fits, N_KEPT))
    ]
    best = by_bic(fits, 1)[0]
    if 2 < best.share.shape[1] <= MOST_MERGED:
        found += [
            Candidate("merged", view.name, d, -1, own)
            for own in merged(best.share)
            if own.max() < LARGEST_MERGED
        ]
    if covariance == "full" and proposals:
        refined = by_bic(fit_mixtures(points, proposals, covariance), 2)
        found += [
            Candidate("refined", view.name, d, rank, fit.labels) for rank, fit in enumerate(refined)
        ]
    return found


def _numbers(proposals: Sequence[Labels], given: Sequence[int]) -> set[int]:
    """Numbers of clusters worth a try: those given, and those near what a network proposes."""
    ks = set(given)
    for labels in proposals:
        k = min(int(labels.max()) + 1, LARGEST_K)
        ks |= {max(2, k - 1), max(2, k), k + 1, max(2, round(1.25 * k))}
    return ks


def _affordable(labels: Labels, d: int) -> bool:
    """Whether a mixture of so many clusters has fewer parameters than half of the numbers."""
    k = int(labels.max()) + 1
    return k == 1 or k * (d + d * (d + 1) / 2) < 0.5 * len(labels) * d


def distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Each partition once, the first candidate with it; labels by first appearance."""
    kept: dict[bytes, Candidate] = {}
    for each in candidates:
        _, first, inverse = np.unique(each.labels, return_index=True, return_inverse=True)
        order = np.argsort(np.argsort(first))
        labels = order[inverse].astype(np.int16)
        kept.setdefault(labels.tobytes(), replace(each, labels=labels))
    return [*kept.values()]
