"""EM for mixtures of densities that a network predicts: its M-step is a look at one cluster alone.

In the loop a cluster is described while the others are still around it. Alone it looks like a
training set of one cluster, and its density is more accurate. The E-step is that of any mixture;
components that the likelihood hardly needs are dropped, such as the scraps of the last steps, and
two that the network describes as well by one look are merged, such as the halves of an arc that
another one crosses.
"""

from typing import NamedTuple

import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.functional.mixture_weights import estimate_weights, needed_components
from coterie.inference.loop import find_labels
from coterie.systems.protocol import Commit, Sequential

ROUNDS = 4
HALVES = 3  # of a set, from which EM is begun again
ALIKE = 0.98  # share of points in clusters that two partitions share, so that EM would end alike
# In nats. Of 20, 40 and 80, 80 came closest to the number of clusters on 72 held-out sets of warped
# Gaussians: off by 0.07 at (1000, 4) and 0.33 at (3000, 12), without EM by 0.32 and 1.67.
COST = 80.0
SMALLEST = 300  # points of those sets; in smaller ones a cluster costs less


class Predicted(NamedTuple):
    """K clusters of one set of N points by their densities.

    commits: the look at each; log_density: (N, K); log_weight: (K,).
    """

    commits: tuple[Commit, ...]
    log_density: Tensor
    log_weight: Tensor

    @property
    def log_joint(self) -> Tensor:
        """(N, K)."""
        return self.log_density + self.log_weight

    @property
    def log_likelihood(self) -> float:
        """Of all points, the sum."""
        return float(self.log_joint.logsumexp(1).sum())

    @property
    def score(self) -> float:
        """The log-likelihood, less what the clusters cost."""
        return self.log_likelihood - cost(len(self.log_density)) * len(self.commits)

    def select(self, clusters: Tensor, log_weight: Tensor) -> "Predicted":
        """Some of the clusters, with other weights."""
        commits = tuple(self.commits[number] for number in clusters.tolist())
        return Predicted(commits, self.log_density[:, clusters], log_weight)


def cost(n_points: int) -> float:
    """What a cluster has to add to the log-likelihood of a set, in nats."""
    return COST * min(1.0, n_points / SMALLEST)


@torch.inference_mode()
def em_with_restarts(
    system: Sequential,
    points: Tensor,
    labels: Tensor,
    *,
    at_least: int = 1,
    at_most: int | None = None,
) -> Predicted:
    """The most probable mixture of `em_by_network`, from labels and from what halves suggest.

    Where clusters cross, a loop that took a wrong turn is not mended by EM; on half of the points
    it often takes another. The halves follow from the order of the points alone.
    """

    def climb(labels: Tensor) -> Predicted:
        return em_by_network(
            system, points, labels, change_k=True, at_least=at_least, at_most=at_most
        )

    best, generator = climb(labels), Generator().manual_seed(0)
    for _ in range(HALVES):
        half = torch.randperm(len(points), generator=generator)[: (len(points) + 1) // 2]
        half = half.to(points.device)
        proposed = torch.full_like(labels, -1)
        proposed[half] = find_labels(system, SetBatch.single(points[half]))[0]
        n_clusters = len(proposed[proposed >= 0].unique())
        if n_clusters < at_least or _alike(proposed[half], best.log_joint.argmax(1)[half]):
            continue
        best = max(best, climb(proposed), key=lambda each: each.score)
    return best


@torch.inference_mode()
def em_by_network(
    system: Sequential,
    points: Tensor,
    labels: Tensor,
    *,
    change_k: bool,
    at_least: int = 1,
    at_most: int | None = None,
) -> Predicted:
    """The most probable mixture of some rounds of EM, from labels (N,) of points (N, D).

    -1 is no cluster. change_k: whether clusters may be dropped and merged; each has to add its cost
    to the log-likelihood.
    """
    if not change_k:
        return _rounds(system, points, labels)
    best = _rounds(system, points, labels, (at_least, at_most))
    while len(best.commits) > at_least:
        merged = _with_a_pair_merged(system, points, best)
        if merged is None:
            break
        found = _rounds(system, points, merged.log_joint.argmax(1), (at_least, at_most))
        best = max(merged, found, key=lambda each: each.score)
    return best


def _rounds(
    system: Sequential,
    points: Tensor,
    labels: Tensor,
    bounds: tuple[int, int | None] | None = None,
) -> Predicted:
    """The best of some rounds of EM; bounds: on the number of clusters, None to keep all.

    The rounds need not climb: the network was not trained to maximise anything.
    """
    best: Predicted | None = None
    for _ in range(ROUNDS):
        found = _look_at_each(system, points, labels)
        n_looks = len(found.commits)
        if bounds is None:
            weight = estimate_weights(found.log_density, found.log_weight)
            found = found._replace(log_weight=weight)
        else:
            found = found.select(*needed_components(found.log_density, cost(len(points)), *bounds))
        if best is None or found.score > best.score:
            best = found
        before, labels = labels, found.log_joint.argmax(1)
        too_few = len(labels.unique()) < (n_looks if bounds is None else bounds[0])
        if too_few or torch.equal(before, labels):
            break
    assert best is not None
    return best


def _look_at_each(system: Sequential, points: Tensor, labels: Tensor) -> Predicted:
    """The first step of the system on each cluster alone, which all weigh the same.

    At least one cluster has points.
    """
    numbers = labels[labels >= 0].unique()
    looks = [_look(system, points, labels == number) for number in numbers]
    log_density = torch.stack([_log_density(look, points) for look in looks], 1)
    return Predicted(tuple(looks), log_density, log_density.new_zeros(len(looks)).log_softmax(0))


def _with_a_pair_merged(system: Sequential, points: Tensor, found: Predicted) -> Predicted | None:
    """The best mixture in which one look is in the place of two clusters, where it is a better one.

    Each cluster is tried with the one that describes its points best besides itself.
    """
    labels, best = found.log_joint.argmax(1), found
    numbers = torch.arange(len(found.commits), device=labels.device)
    for one, other in _neighbours(found, labels):
        members = (labels == one) | (labels == other)
        if not members.any():
            continue
        look = _look(system, points, members)
        kept = numbers[(numbers != one) & (numbers != other)]
        log_density = torch.cat(
            [found.log_density[:, kept], _log_density(look, points)[:, None]], 1
        )
        commits = (*(found.commits[number] for number in kept.tolist()), look)
        start = log_density.new_zeros(len(commits)).log_softmax(0)
        merged = Predicted(commits, log_density, estimate_weights(log_density, start))
        best = max(best, merged, key=lambda each: each.score)
    return None if best is found else best


def _neighbours(found: Predicted, labels: Tensor) -> list[tuple[int, int]]:
    """Pairs of clusters: each with the one under which its points are most probable."""
    pairs = set()
    for number in range(len(found.commits)):
        others = found.log_density[labels == number].sum(0)
        others[number] = -torch.inf
        nearest = int(others.argmax())
        pairs.add((min(number, nearest), max(number, nearest)))
    return sorted(pairs)


def _alike(labels: Tensor, others: Tensor) -> bool:
    """Whether nearly all points (N,) are in clusters that lie in each other."""
    counts = torch.zeros(int(labels.max()) + 2, int(others.max()) + 1, device=labels.device)
    ones = torch.ones_like(labels, dtype=counts.dtype)
    counts.index_put_((labels, others), ones, accumulate=True)  # -1 is the last row
    shared = min(float(counts.amax(0).sum()), float(counts.amax(1).sum()))
    return shared >= ALIKE * len(labels)


def _look(system: Sequential, points: Tensor, members: Tensor) -> Commit:
    """The first step of the system on some of the points alone."""
    return system.step(system.start(SetBatch.single(points[members])))


def _log_density(commit: Commit, points: Tensor) -> Tensor:
    assert commit.density is not None
    return commit.density.log_prob(points[None])[0]
