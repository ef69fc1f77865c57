"""Search for a mixture of Gaussians with full covariances, and for the number of components.

The search starts from any partition, which is refined by EM. Components that cover two clusters
are cut (`mixtures/axis_cuts.py`); then components are merged or dropped one by one
(`mixtures/pair_merges.py`), and each number of clusters on this path is scored by its evidence
(`mixtures/shared_fit.py`). The same follows from the best fit with all of its components cut. Then
single cuts, single removals and pairs of a cut and a removal are tried as long as the evidence
improves; such a pair moves a component from where there are too many to where there are too few.

The search is intended for up to 10,000 points, the context of a set. For 1,000 points in 8 columns
it takes about 50 ms on one thread.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from coterie.mixtures.axis_cuts import best_cuts, planes, with_cuts
from coterie.mixtures.gaussians import Array, FullMixture, expectation, log_joint
from coterie.mixtures.pair_merges import with_one_less
from coterie.mixtures.shared_fit import Cloud, SharedFit, cloud_of, fit_from, members, weighed

MOST_CLUSTERS = 30
ROUNDS = 4
FIRST_STEPS, STEPS, LAST_STEPS = 10, 4, 60
# In nats: the path is abandoned this far below its best, FURTHER components below the best number.
HOPELESS = 60.0
FURTHER = 3
# A cut whose local change in evidence exceeds this may improve the whole fit.
PROMISING = -5.0
TRIED = 2
USUAL_STRENGTH = 16.0
WORTH_IT = 0.5


@dataclass(frozen=True)
class MixtureFit:
    """A mixture of K Gaussians for a set, and the evidence of each number of clusters.

    mixture: in the units of the points, by decreasing weight; strength: the number of pseudo-points
    of each covariance, infinite if all have one shape; responsibilities: (N, K); log_likelihood: of
    all points; log_evidence: the best value for each number of clusters that was tried.
    """

    mixture: FullMixture
    strength: float
    responsibilities: Array
    log_likelihood: float
    log_evidence: dict[int, float]

    @property
    def n_clusters(self) -> int:
        """K."""
        return self.mixture.n_clusters

    @property
    def labels(self) -> NDArray[np.intp]:
        """The most probable component of each point: (N,)."""
        labels: NDArray[np.intp] = self.responsibilities.argmax(1)
        return labels

    def k_probabilities(self) -> Array:
        """The posterior of the number of clusters, with a uniform prior over those tried.

        (K_max + 1,): the probability of k clusters at index k.
        """
        scores = np.full(max(self.log_evidence) + 1, -np.inf)
        scores[list(self.log_evidence)] = list(self.log_evidence.values())
        probabilities: Array = np.exp(scores - logsumexp(scores))
        return probabilities


def fit_mixture(
    points: NDArray,
    labels: NDArray[np.integer],
    *,
    at_least: int = 1,
    at_most: int | None = None,
    is_futile: Callable[[Array, FullMixture], bool] | None = None,
) -> MixtureFit:
    """Search for a mixture for points (N, D), starting from labels (N,), -1 for none.

    The result has at_least to at_most components; by default at_most is MOST_CLUSTERS, or the
    number of clusters in the labels if that is larger. is_futile: asked about a mixture with as
    many components as cuts give, before any is removed; the search ends there if it is.
    """
    if not len(points) == len(labels) > 0:
        raise ValueError(f"{len(points)} points, {len(labels)} labels")
    numbers = np.asarray(points, dtype=np.float64)
    centre = numbers.mean(0)
    centred = numbers - centre
    spread = centred.std(0)
    unit = np.where(spread > 0, spread, spread.max() or 1.0)
    cloud = cloud_of(centred / unit)
    start = members(labels)
    limit = max(MOST_CLUSTERS, len(start)) if at_most is None else at_most
    tried = _Tried(cloud, at_least, limit)
    tried.search(start, is_futile or (lambda *_: False))
    best = tried.best()
    by_weight = best.mixture.take(np.argsort(-best.mixture.log_weight, kind="stable"))
    # A final E-step, so that the labels equal those predicted later for the same points.
    found = expectation(log_joint(cloud.rows, by_weight))
    log_volume = len(numbers) * float(np.log(unit).sum())
    mixture = FullMixture(
        by_weight.log_weight,
        by_weight.mean * unit + centre,
        by_weight.covariance * np.outer(unit, unit),
    )
    return MixtureFit(
        mixture,
        best.strength,
        np.ascontiguousarray(found.responsibilities.T),
        float(found.log_likelihood.sum()) - log_volume,
        {k: fit.evidence - log_volume for k, fit in sorted(tried.by_number.items())},
    )


class _Tried:
    """The best fit so far for each number of clusters, and the moves of the search."""

    def __init__(self, cloud: Cloud, at_least: int, at_most: int) -> None:
        self.cloud, self.at_least, self.at_most = cloud, at_least, at_most
        self.by_number: dict[int, SharedFit] = {}

    def best(self) -> SharedFit:
        return max(self.by_number.values(), key=lambda fit: fit.evidence)

    def note(self, fit: SharedFit) -> SharedFit:
        """Store a fit with an allowed number of clusters, if it is the best for that number."""
        k = fit.n_clusters
        if self.at_least <= k <= self.at_most and (
            k not in self.by_number or fit.evidence > self.by_number[k].evidence
        ):
            self.by_number[k] = fit
        return fit

    def search(self, start: Array, is_futile: Callable[[Array, FullMixture], bool]) -> None:
        """Run all moves from responsibilities (K, N)."""
        # The strength estimated from clusters of equal shape, as of k-means, may be misleading.
        strengths = {weighed(self.cloud, start, -math.inf).strength, USUAL_STRENGTH}
        fits = [self._after(start, strength, FIRST_STEPS) for strength in sorted(strengths)]
        fit = max(fits, key=lambda each: each.evidence)
        fit = self.cut_what_pays(fit)
        fit = self.cut_what_must(fit)
        if is_futile(self.cloud.points, self.cut_all(fit).mixture):
            return
        self.follow_removals(fit)
        self.follow_removals(self.cut_all(self.best()))
        for _ in range(ROUNDS):
            before = self.best().evidence
            self.improve_best()
            if self.best().evidence <= before + WORTH_IT:
                break

    def cut_what_pays(self, fit: SharedFit) -> SharedFit:
        for _ in range(ROUNDS):
            room = max(self.at_most - fit.n_clusters, 0)
            cuts = [cut for cut in best_cuts(self.cloud, fit) if cut.gain > 0][:room]
            for chosen in (cuts, cuts[:1]):
                if chosen:
                    more = self._after(with_cuts(fit, chosen), fit.strength, 2 * STEPS)
                    if more.evidence > fit.evidence:
                        break
            else:
                return fit
            fit = more
        return fit

    def cut_all(self, fit: SharedFit) -> SharedFit:
        """Cut every component at once, the best cuts first if there is no room for all.

        Where several components cover two clusters each, the common covariance is too wide: single
        cuts do not pay, and EM undoes them.
        """
        cuts = planes(self.cloud, fit)[: max(self.at_most - fit.n_clusters, 0)]
        return self._after(with_cuts(fit, cuts), fit.strength, 2 * STEPS) if cuts else fit

    def cut_what_must(self, fit: SharedFit) -> SharedFit:
        """Cut until there are at_least components, half of the missing ones at a time."""
        while (missing := self.at_least - fit.n_clusters) > 0:
            cuts = best_cuts(self.cloud, fit)[: (missing + 1) // 2]
            if not cuts:
                raise ValueError(
                    f"{self.cloud.frame.n_points} points are too few for {self.at_least} clusters"
                )
            fit = self._after(with_cuts(fit, cuts), fit.strength, 2 * STEPS)
        return fit

    def follow_removals(self, fit: SharedFit) -> None:
        while fit.n_clusters > self.at_least:
            fit = self.note(with_one_less(self.cloud, fit, steps=STEPS))
            if self.by_number:
                best = self.best()
                far = fit.n_clusters < best.n_clusters - FURTHER
                if far and fit.evidence < best.evidence - HOPELESS:
                    break

    def improve_best(self) -> None:
        best = self.best()
        best = self._after(best.responsibilities, best.strength, LAST_STEPS)
        for cut in best_cuts(self.cloud, best)[:TRIED]:
            if cut.gain > PROMISING:
                more = self._after(with_cuts(best, [cut]), best.strength, LAST_STEPS // 3)
                if more.n_clusters > 2:
                    self.note(with_one_less(self.cloud, more, steps=2 * STEPS))
        if best.n_clusters > self.at_least:
            self.note(with_one_less(self.cloud, best, steps=3 * STEPS))

    def _after(self, responsibilities: Array, strength: float, steps: int) -> SharedFit:
        return self.note(fit_from(self.cloud, responsibilities, strength, steps=steps))
