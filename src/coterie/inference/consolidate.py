"""Consolidation: let the likelihood decide which of the clusters found are real.

A network that finds clusters one by one cannot take a cluster back. Where clusters have a Gaussian
density, the clusters found are the components of a mixture. A component that is no Gaussian but two
is split (`inference/splits.py`). Then one component after another is dropped or merged with its
neighbour, whichever costs the least likelihood, and the mixture re-estimated by EM from where it
stands; of the mixtures on this path the one with the best information criterion is
kept. The same EM steps update earlier clusters in the light of later ones (AMCP, Algorithm 1, line
12). Stopping at the first removal that does not pay would leave clusters in pieces where the data
are wider than those of the network's training: each single removal costs, all together pay.

The criterion is BIC with one refinement: what a component's mean and variance cost depends on the
points that belong to it, not on all (as in Figueiredo and Jain's message length, 2002).
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from coterie.functional.em import Gaussians, expectation, gaussian_log_density, maximisation
from coterie.functional.partitions import one_hot
from coterie.inference.splits import best_splits

PSEUDO_COUNT = 1.0
TOO_NARROW = 0.5
PAIRS_AT_A_TIME = 128


class Removal(NamedTuple):
    """The cheapest way to have one component less, and what it costs in log-likelihood."""

    cost: float
    mixture: Gaussians


def consolidate(
    points: Tensor,
    labels: Tensor,
    n_clusters: int,
    *,
    em_steps: int = 2,
    change_k: bool = True,
    cluster_scale: float | None = None,
) -> Gaussians:
    """A mixture of Gaussians from a first partition of one set.

    points: (N, D); labels: (N,), -1 for points without a cluster. Without change_k there are
    n_clusters components to the end; cluster_scale is that of the clusters in training, by which
    splits are judged.
    """
    points = points.double()
    mixture = maximisation(
        points, one_hot(labels, n_clusters).to(points), pseudo_count=PSEUDO_COUNT
    )
    mixture = reestimate(points, mixture, em_steps)
    if not change_k:
        return mixture
    if cluster_scale is not None:
        mixture = with_splits(points, mixture, em_steps, cluster_scale)
    log_likelihood = total_log_likelihood(points, mixture)
    best, best_score = mixture, log_likelihood - complexity(mixture, len(points))
    # Fewer components never explain more: once the likelihood alone is below the best score, so is
    # everything further down the path.
    while len(mixture.log_weight) > 1 and log_likelihood > best_score:
        mixture = reestimate(points, cheapest_removal(points, mixture).mixture, em_steps)
        log_likelihood = total_log_likelihood(points, mixture)
        if (score := log_likelihood - complexity(mixture, len(points))) >= best_score:
            best, best_score = mixture, score
    return settle(points, best)


def with_splits(
    points: Tensor, mixture: Gaussians, em_steps: int, cluster_scale: float, *, rounds: int = 3
) -> Gaussians:
    """The mixture with two components where one was not enough: points (N, D) of one set.

    Halves far narrower than the clusters in training are no clusters: rounded values and heavy
    tails would pay for them everywhere. A component that stands for three needs a second round.
    """
    n_points, columns = points.shape
    for _ in range(rounds):
        splits = best_splits(points, mixture)
        sizes = (splits.halves.log_weight.exp() * n_points).clamp_min(1.0)  # (K, 2)
        cost = columns * (sizes.log().sum(1) - sizes.sum(1).log()) + 0.5 * math.log(n_points)
        plausible = (splits.halves.log_scale.exp() > TOO_NARROW * cluster_scale).all(-1).all(-1)
        # A half with fewer points than parameters would fit anything.
        pays = plausible & (splits.gain > cost) & (sizes.amin(1) > 2 * columns)
        if not bool(pays.any()):
            break
        parts = (
            torch.cat([whole[~pays], half[pays].flatten(0, 1)])
            for whole, half in zip(mixture, splits.halves, strict=True)
        )
        mixture = reestimate(points, Gaussians(*parts), 2 * em_steps)
    return mixture


def settle(
    points: Tensor, mixture: Gaussians, tolerance: float = 1e-5, limit: int = 50
) -> Gaussians:
    """EM until the mean log-likelihood of the points (N, D) gains less than tolerance a step."""
    before = -math.inf
    for _ in range(limit):
        log_responsibilities, log_likelihood = expectation(points, mixture)
        now = float(log_likelihood.mean())
        if now - before < tolerance:
            break
        before = now
        mixture = maximisation(points, log_responsibilities.exp(), pseudo_count=PSEUDO_COUNT)
    return mixture


def total_log_likelihood(points: Tensor, mixture: Gaussians) -> float:
    """Of all points (N, D) under the mixture."""
    return float(expectation(points, mixture)[1].sum())


def complexity(mixture: Gaussians, n_points: int) -> float:
    """What the parameters cost, in nats: half a log of the sample size behind each of them."""
    n_clusters, columns = mixture.mean.shape
    own_points = (mixture.log_weight.exp() * n_points).clamp_min(1.0)
    return columns * float(own_points.log().sum()) + 0.5 * n_clusters * math.log(n_points)


def reestimate(points: Tensor, mixture: Gaussians, steps: int) -> Gaussians:
    """A few EM steps: points (N, D) of one set."""
    for _ in range(steps):
        log_responsibilities, _ = expectation(points, mixture)
        mixture = maximisation(points, log_responsibilities.exp(), pseudo_count=PSEUDO_COUNT)
    return mixture


def cheapest_removal(points: Tensor, mixture: Gaussians) -> Removal:
    """Compare dropping every component and merging every pair, for one set of points (N, D)."""
    log_responsibilities, log_likelihood = expectation(points, mixture)
    responsibilities = log_responsibilities.exp()
    return min(
        _cheapest_drop(responsibilities, mixture),
        _cheapest_merge(points, responsibilities, log_likelihood, mixture),
        key=lambda removal: removal.cost,
    )


def _cheapest_drop(responsibilities: Tensor, mixture: Gaussians) -> Removal:
    # Without component j the likelihood of x_i is (1 - r_ij) / (1 - pi_j) times what it was.
    n_points = len(responsibilities)
    others = _log_rest(responsibilities).sum(0)
    renormalised = n_points * torch.log1p(-mixture.log_weight.exp().clamp_max(1 - 1e-12))
    cost = renormalised - others  # (K,)
    victim = int(cost.argmin())
    kept = [j for j in range(len(cost)) if j != victim]
    weight = mixture.log_weight[kept].log_softmax(0)
    return Removal(
        float(cost[victim]), Gaussians(weight, mixture.mean[kept], mixture.log_scale[kept])
    )


def _cheapest_merge(
    points: Tensor, responsibilities: Tensor, log_likelihood: Tensor, mixture: Gaussians
) -> Removal:
    # With a and b replaced by one Gaussian m of their joint moments the likelihood of x_i becomes
    # (1 - r_ia - r_ib) p(x_i) + (pi_a + pi_b) N(x_i; m).
    k = len(mixture.log_weight)
    first, second = torch.triu_indices(k, k, 1, device=points.device)
    weight = mixture.log_weight.exp()
    joint = weight[first] + weight[second]  # (P,)
    share = (weight[first] / joint)[:, None]
    mean = share * mixture.mean[first] + (1 - share) * mixture.mean[second]
    variance = (
        share * (2 * mixture.log_scale[first]).exp()
        + (1 - share) * (2 * mixture.log_scale[second]).exp()
        + share * (1 - share) * (mixture.mean[first] - mixture.mean[second]).square()
    )
    log_scale = 0.5 * variance.log()

    def cost_of(pairs: Tensor) -> Tensor:
        merged = gaussian_log_density(points, mean[pairs], log_scale[pairs]) + joint[pairs].log()
        rest = _log_rest(responsibilities[:, first[pairs]] + responsibilities[:, second[pairs]])
        after = torch.logaddexp(log_likelihood[:, None] + rest, merged)
        return (log_likelihood[:, None] - after).sum(0)

    # In blocks: with 64 components there are two thousand pairs.
    blocks = torch.arange(len(joint), device=points.device).split(PAIRS_AT_A_TIME)
    cost = torch.cat([cost_of(pairs) for pairs in blocks])  # (P,)
    best = int(cost.argmin())
    a, b = int(first[best]), int(second[best])
    kept = [j for j in range(k) if j not in (a, b)]
    return Removal(
        float(cost[best]),
        Gaussians(
            torch.cat([mixture.log_weight[kept], joint[best : best + 1].log()]),
            torch.cat([mixture.mean[kept], mean[best : best + 1]]),
            torch.cat([mixture.log_scale[kept], log_scale[best : best + 1]]),
        ),
    )


def _log_rest(responsibilities: Tensor) -> Tensor:
    """log(1 - r), at least log of the smallest difference that float64 can tell from zero."""
    return torch.log((1 - responsibilities).clamp_min(torch.finfo(responsibilities.dtype).eps))
