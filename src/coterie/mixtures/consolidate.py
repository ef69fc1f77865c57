"""Consolidation: revise the clusters found by their likelihood.

A network that finds clusters one by one cannot undo one. If clusters have a Gaussian density, they
are the components of a mixture. A component that is better explained by two Gaussians is split
(`mixtures/splits.py`). Then one component after another is dropped or merged with a neighbour
(`mixtures/removals.py`), whichever costs the least likelihood, and EM re-estimates the mixture.
The same EM steps update earlier clusters after later ones were found (AMCP, Algorithm 1, line 12).
Stopping at the first removal that does not improve the criterion would leave clusters split where
the data are wider than the network's training sets: each single removal costs, but all together
improve it.

The mixtures on this path are compared by BIC with one refinement: the penalty for a component's
mean and variance depends on its own points, not on all (as in Figueiredo and Jain's
message length, 2002). If that does not decide clearly, and the cluster scale of training is known,
the evidence decides (`mixtures/evidence.py`).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.mixtures.em import (
    Array,
    Fit,
    Mixture,
    estimate,
    explain,
    improve,
    settle,
)
from coterie.mixtures.evidence import Judged, MixturePrior, adapted, judge, own_prior, trained_prior
from coterie.mixtures.removals import cheapest_removal
from coterie.mixtures.splits import PROMISING, Splits, best_splits, with_halves

# In nats: mixtures whose criterion is worse than the best of the path by more are discarded.
CONTESTED = 8.0
# Removals that cost more log-likelihood than this are not evaluated.
DEAR = 20.0
# If the scales spread by more than this multiple of the spread in training, the prior is wrong, and
# a wrong prior is worse than none: with heavy tails it cost 0.03 of ARI.
FOREIGN = 3.0
MOST_CONTENDERS = 4
MOST_SPLITS = 2
# With more parameters the Hessian takes longer than the network.
MOST_PARAMETERS = 250


class Start(NamedTuple):
    """The start of the path: a mixture, and its splits if none of them is accepted."""

    fit: Fit
    splits: Splits | None


class Scored(NamedTuple):
    """A mixture on the path and its criterion."""

    score: float
    fit: Fit


class Range(NamedTuple):
    """Bounds on the number of components."""

    at_least: int
    at_most: float


def consolidate(
    points: NDArray,
    labels: NDArray[np.integer],
    n_clusters: int,
    *,
    em_steps: int = 2,
    change_k: bool = True,
    cluster_scale: float | None = None,
    at_least: int = 1,
    at_most: int | None = None,
) -> Fit:
    """A mixture of Gaussians from an initial partition of one set.

    points: (N, D); labels: (N,), -1 for points without a cluster. Without change_k the number of
    components stays n_clusters; cluster_scale is that of the clusters in training, by which
    splits are judged. Only mixtures of at_least to at_most components are considered; if there are
    too few, splits are forced.
    """
    columns = np.ascontiguousarray(points.T, dtype=np.float64)
    members = (labels == np.arange(n_clusters)[:, None]).astype(np.float64)  # (K, N)
    fit = improve(columns, explain(columns, estimate(columns, members)), em_steps)
    if not change_k:
        return fit
    sizes = Range(at_least, math.inf if at_most is None else at_most)
    if cluster_scale is None:
        fit = with_forced_splits(columns, fit, em_steps, at_least)
        return settle(columns, contenders(columns, fit, em_steps, sizes)[0])
    prior = trained_prior(columns, cluster_scale)
    start = with_splits(columns, fit, em_steps, prior)
    fit = with_forced_splits(columns, start.fit, em_steps, at_least)
    leader, *others = contenders(columns, fit, em_steps, sizes)
    contested = others or _may_be_split(columns, leader, start, prior, sizes)
    if not contested or not can_be_judged(leader.mixture, prior):
        return settle(columns, leader)
    best = by_evidence(columns, [leader, *others][:MOST_CONTENDERS], prior, sizes)
    return best.fit if math.isfinite(best.log_evidence) else settle(columns, leader)


def contenders(columns: Array, fit: Fit, em_steps: int, sizes: Range) -> list[Fit]:
    """The mixtures in range whose score is near the best of the path, best first: points (D, N).

    The likelihood decreases along the path: once it is below the best score, so are the scores of
    all further mixtures, and the path ends.
    """
    near: list[Scored] = []
    best = -math.inf
    while True:
        if fit.mixture.n_clusters <= sizes.at_most:
            latest = Scored(fit.total - complexity(fit.mixture, columns.shape[1]), fit)
            best = max(best, latest.score)
            near = [each for each in (*near, latest) if each.score >= best - CONTESTED] or [latest]
        if fit.mixture.n_clusters <= sizes.at_least or fit.total <= best:
            break
        fit = improve(columns, explain(columns, cheapest_removal(columns, fit).mixture), em_steps)
    near.sort(key=lambda each: (-each.score, each.fit.mixture.n_clusters))
    return [each.fit for each in near]


def _may_be_split(
    columns: Array, leader: Fit, start: Start, prior: MixturePrior, sizes: Range
) -> bool:
    # Usually nothing was removed, and the splits are known.
    splits = start.splits if leader is start.fit else None
    if splits is None:
        splits = best_splits(columns, leader, adapted(prior, leader.mixture.log_scale))
    return bool(split_proposals(leader, splits, sizes))


def by_evidence(
    columns: Array, fits: list[Fit], prior: MixturePrior, sizes: Range, *, rounds: int = 3
) -> Judged:
    """The most probable among mixtures of points (D, N) and their splits and removals."""
    best = _most_probable([judge(columns, fit.mixture, prior) for fit in fits])
    for _ in range(rounds):
        fit = best.fit
        proposals = split_proposals(fit, best_splits(columns, fit, best.prior), sizes)
        if fit.mixture.n_clusters > sizes.at_least:
            removal = cheapest_removal(columns, fit)
            if removal.cost < DEAR:
                proposals.append(removal.mixture)
        if not proposals:
            break
        challenger = _most_probable([judge(columns, mixture, prior) for mixture in proposals])
        if not challenger.log_evidence > best.log_evidence:
            break
        best = challenger
    return best


def split_proposals(fit: Fit, splits: Splits, sizes: Range) -> list[Mixture]:
    """The mixtures after the most promising splits, each with one component more."""
    if fit.mixture.n_clusters >= sizes.at_most:
        return []
    each = np.arange(len(splits.gain))
    order = np.argsort(-splits.gain, kind="stable")[:MOST_SPLITS]
    promising = [number for number in order if splits.gain[number] > PROMISING]
    return [with_halves(fit.mixture, splits, each == number) for number in promising]


def with_splits(
    columns: Array, fit: Fit, em_steps: int, prior: MixturePrior, *, rounds: int = 3
) -> Start:
    """The mixture with components split where it improves the evidence: points (D, N) of one set.

    A component that covers three clusters needs a second round.
    """
    d, n_points = columns.shape
    for _ in range(rounds):
        splits = best_splits(columns, fit, adapted(prior, fit.mixture.log_scale))
        points_each = np.exp(splits.halves.log_weight) * n_points  # (K, 2)
        # A half with fewer points than parameters would overfit.
        pays = (splits.gain > 0) & (points_each.min(1) > 2 * d)
        if not pays.any():
            return Start(fit, splits)
        halved = with_halves(fit.mixture, splits, pays)
        fit = improve(columns, explain(columns, halved), 2 * em_steps)
    return Start(fit, None)


def with_forced_splits(columns: Array, fit: Fit, em_steps: int, at_least: int) -> Fit:
    """The mixture with at_least components, splitting those that gain most.

    Half of the missing components at a time, so that a half may be split again.
    """
    while (missing := at_least - fit.mixture.n_clusters) > 0:
        splits = best_splits(columns, fit, own_prior(columns, fit.mixture))
        chosen = np.zeros(len(splits.gain), dtype=np.bool_)
        chosen[np.argsort(-splits.gain, kind="stable")[: (missing + 1) // 2]] = True
        halved = with_halves(fit.mixture, splits, chosen)
        fit = improve(columns, explain(columns, halved), 2 * em_steps)
    return fit


def complexity(mixture: Mixture, n_points: int) -> float:
    """The penalty in nats: half the log of the effective sample size of each parameter."""
    n_clusters, columns = mixture.mean.shape
    own_points = np.maximum(np.exp(mixture.log_weight) * n_points, 1.0)
    return columns * float(np.log(own_points).sum()) + 0.5 * n_clusters * math.log(n_points)


def _most_probable(judged: list[Judged]) -> Judged:
    return max(judged, key=lambda each: each.log_evidence)


def can_be_judged(mixture: Mixture, prior: MixturePrior) -> bool:
    """Whether the evidence is affordable and the scales of the mixture match the prior."""
    parameters = mixture.n_clusters + 2 * mixture.mean.size
    like_training = adapted(prior, mixture.log_scale).scale_spread < FOREIGN * prior.scale_spread
    return parameters <= MOST_PARAMETERS and like_training
