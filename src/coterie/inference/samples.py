"""Joint draws of the labels of a set, point by point or cluster by cluster.

A point-wise system seats the points of each draw in an order of its own. One that is not quite
exchangeable gives partitions another probability in another order; over draws the orders are
averaged.
"""

from typing import NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.inference.loop import find_clusters
from coterie.systems.protocol import Commit, PointWise, Sequential, claimed_labels

SEATED_AT_ONCE = 1_000_000  # points of all draws side by side, about a kilobyte each
DRAWN_AT_ONCE = 200_000  # the same where whole clusters are drawn, some kilobytes each
LONGEST = 900.0  # seconds that somebody may be made to wait
MOST_PAIRED = 10_000  # points in a matrix of pairs, which takes 800 MB


class Samples(NamedTuple):
    """S draws of the labels of one set: labels (S, N) and the log-probability of each (S,).

    Clusters of a draw are numbered in order of appearance; the numbers of two draws are unrelated.
    """

    labels: Tensor
    log_probabilities: Tensor


class MostProbable(NamedTuple):
    """The commits of the most probable of several draws, and all draws."""

    commits: tuple[Commit, ...]
    samples: Samples


def draw_samples(
    system: PointWise, batch: SetBatch, n_samples: int, generator: Generator
) -> Samples:
    """Seat the points of one set n_samples times."""
    return most_probable(system, batch, n_samples, generator).samples


def draw_partitions(
    system: Sequential, batch: SetBatch, n_samples: int, generator: Generator
) -> Tensor:
    """Labels of one set as a system finds them n_samples times, side by side: (S, N).

    For systems whose steps draw whole clusters at random; -1 for points left over.
    """
    at_once = max(1, DRAWN_AT_ONCE // batch.points.shape[1])
    drawn = []
    for first in range(0, n_samples, at_once):
        copies = batch.repeated(min(at_once, n_samples - first))
        drawn.append(claimed_labels(find_clusters(system, copies, generator=generator).commits))
    return torch.cat(drawn)


def most_probable(
    system: PointWise, batch: SetBatch, n_samples: int, generator: Generator
) -> MostProbable:
    """Seat the points of one set n_samples times, side by side, and keep the most probable draw."""
    n_points = batch.points.shape[1]
    require_time(system, n_points, n_samples)
    at_once = max(1, SEATED_AT_ONCE // n_points)
    drawn, best = [], -torch.inf
    commits: tuple[Commit, ...] = ()
    for first in range(0, n_samples, at_once):
        copies = batch.repeated(min(at_once, n_samples - first))
        state = find_clusters(system, copies, generator=generator)
        probable = cast(Tensor, state.log_probabilities())
        drawn.append(Samples(claimed_labels(state.commits), probable))
        highest = probable.max(0)
        if float(highest.values) > best:
            best = float(highest.values)
            commits = state.of_set(int(highest.indices)).with_points()
    samples = Samples(*(torch.cat(parts) for parts in zip(*drawn, strict=True)))
    return MostProbable(commits, samples)


def require_time(system: PointWise, n_points: int, n_samples: int) -> None:
    """Refuse to seat points for longer than anybody would wait."""
    seconds = system.seconds_to_seat(n_points, n_samples)
    if seconds > LONGEST:
        raise ValueError(
            f"seating {n_points:,} points one after another, {n_samples:,}"
            f" time{'s' if n_samples > 1 else ''} in parallel, would take about"
            f" {in_words(seconds)}; the longest allowed is {in_words(LONGEST)}. Use fewer rows, a"
            " smaller context_size or n_samples, a GPU, or a system that finds whole clusters"
        )


def in_words(seconds: float) -> str:
    """A duration, to the precision of an estimate."""
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} seconds"


def shares_of_k(labels: NDArray[np.integer]) -> NDArray[np.float64]:
    """How many of S draws (S, n) have k clusters, as a share, at place k: (K + 1,)."""
    counts = [len(np.unique(draw[draw >= 0])) for draw in labels]
    return np.bincount(counts) / len(counts)


def co_assignment(labels: NDArray[np.integer]) -> NDArray[np.float64]:
    """In which share of S draws (S, n) two points have one cluster: (n, n), one on the diagonal.

    Points without a cluster (-1) are with nobody but themselves.
    """
    n_points = labels.shape[1]
    require_pairs(n_points)
    together = np.zeros((n_points, n_points))
    for draw in labels:
        together += (draw[:, None] == draw) & (draw >= 0)
    together /= len(labels)
    np.fill_diagonal(together, 1.0)
    return together


def require_pairs(n_points: int) -> None:
    """Refuse a matrix of pairs that is too large for the memory."""
    if n_points > MOST_PAIRED:
        raise ValueError(
            f"a co-assignment matrix of {n_points:,} rows would take"
            f" {8 * n_points**2 / 1e9:,.1f} GB; it is computed for at most {MOST_PAIRED:,} rows:"
            " take a sample of them"
        )
