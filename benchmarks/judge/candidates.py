"""All partitions of one set that the judge is to choose from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.arms import by_bic, fit_mixtures, lloyd, merged, ward_cuts
from judge.graph import spectral_cuts
from judge.readings import Reading
from judge.views import View

Labels = NDArray[np.int16]

GIVEN_KS = (2, 3, 4, 5, 6, 7, 8, 10, 12)
LARGEST_K = 40
MOST_AXES = 16
MOST_MERGED = 16  # components: joining more takes long
LARGEST_MERGED = 8


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


def of_readings(arm: str, views: Sequence[View], readings: Sequence[Reading]) -> list[Candidate]:
    """A network's answers to several views."""
    return [
        Candidate(arm, view.name, view.points.shape[1], 0, reading.labels, reading.sure)
        for view, reading in zip(views, readings, strict=True)
    ]


def classical(
    views: Sequence[View],
    proposals: Sequence[Labels] = (),
    *,
    full: Sequence[str] = ("axes2", "axes4", "axes8"),
    diagonal: Sequence[str] = ("all", "rank"),
    n_kept: int = 3,
) -> list[Candidate]:
    """Cuts of a graph, k-means and mixtures of Gaussians in the views of these names.

    proposals: partitions (n,) by a network, from which mixtures are started too.
    """
    by_name = {view.name: view for view in views}
    everything = by_name["all"]
    n_rows = len(everything.points)
    ks = sorted({k for k in _numbers(proposals) if k < n_rows / 4})
    proposals = [each for each in proposals if 1 < each.max() + 1 <= LARGEST_K]
    found = [
        Candidate("graph", "all", everything.points.shape[1], -1, own)
        for own in spectral_cuts(everything.points, ks)
    ]
    done: set[tuple[str, str]] = set()
    for covariance, names in (("diag", diagonal), ("full", full)):
        for name in names:
            view = by_name.get(name, everything)
            if (covariance, view.name) in done:
                continue
            done.add((covariance, view.name))
            points = view.points[:, :MOST_AXES].astype(np.float64)
            cuts = ward_cuts(points, ks)
            means = [lloyd(points, own) for own in cuts]
            if covariance == "diag":
                found += [
                    Candidate("kmeans", view.name, points.shape[1], -1, own)
                    for k, own in zip(ks, means, strict=True)
                    if k in GIVEN_KS
                ]
            nothing = np.zeros(n_rows, dtype=np.int16)
            starts = [nothing, *means]
            d = points.shape[1]
            fits = fit_mixtures(
                points, [each for each in starts if _affordable(each, d)], covariance
            )
            for rank, fit in enumerate(by_bic(fits, n_kept)):
                found.append(Candidate(covariance, view.name, d, rank, fit.labels))
            best = by_bic(fits, 1)[0]
            if 2 < best.share.shape[1] <= MOST_MERGED:
                found += [
                    Candidate("merged", view.name, d, -1, own)
                    for own in merged(best.share)
                    if own.max() < LARGEST_MERGED
                ]
            if covariance == "full" and proposals:
                fits = fit_mixtures(points, proposals, covariance)
                for rank, fit in enumerate(by_bic(fits, 2)):
                    found.append(Candidate("refined", view.name, d, rank, fit.labels))
    return found


def _numbers(proposals: Sequence[Labels]) -> set[int]:
    """Numbers of clusters worth a try: small ones, and those near what a network proposes."""
    ks = set(GIVEN_KS)
    for labels in proposals:
        k = min(int(labels.max()) + 1, LARGEST_K)
        ks |= {max(2, k - 1), max(2, k), k + 1, max(2, round(1.25 * k))}
    return ks


def _affordable(labels: Labels, d: int) -> bool:
    """Whether a mixture of so many clusters has fewer parameters than half of the numbers."""
    k = int(labels.max()) + 1
    return k == 1 or k * (d + d * (d + 1) / 2) < 0.5 * len(labels) * d


def distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates without those that repeat an earlier partition; labels by first appearance."""
    seen: set[bytes] = set()
    kept = []
    for each in candidates:
        _, first, inverse = np.unique(each.labels, return_index=True, return_inverse=True)
        order = np.argsort(np.argsort(first))
        labels = order[inverse].astype(np.int16)
        key = labels.tobytes()
        if key not in seen:
            seen.add(key)
            kept.append(Candidate(each.arm, each.view, each.axes, each.rank, labels, each.sure))
    return kept
