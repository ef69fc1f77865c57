"""What a rule says of many points, chunk by chunk.

Beside the results nothing grows with the number of points.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coterie.inference.result import NOISE
from coterie.inference.rules.protocol import Rule

CHUNK_SIZE = 65_536


class Points(Protocol):
    """The points of a set (n, D): an array, or what brings its rows when they are asked for."""

    def __len__(self) -> int:
        """The number of points."""

    def __getitem__(self, rows: slice | NDArray[np.intp], /) -> NDArray[np.float32]:
        """Some of the points (m, D)."""


class Assignment(NamedTuple):
    """What a rule says of some points: labels (n,), probabilities (n, k)."""

    labels: NDArray[np.intp]
    probabilities: NDArray[np.float64]


class Answer(NamedTuple):
    """What a rule says of a chunk: which rows it is, labels (m,), log-probabilities (m, k)."""

    rows: slice
    labels: NDArray[np.intp]
    log_probabilities: Tensor


def apply(
    rule: Rule, points: Points, chunk_size: int = CHUNK_SIZE, *, noise: bool = False
) -> Assignment:
    """What a rule says of points (n, D); with noise, those that no cluster wants have no label."""
    labels = np.empty(len(points), dtype=np.intp)
    probabilities = np.empty((len(points), rule.n_clusters))
    for answer in _answers(rule, points, chunk_size, noise):
        labels[answer.rows] = answer.labels
        probabilities[answer.rows] = answer.log_probabilities.exp().cpu().numpy()
    return Assignment(labels, probabilities)


def apply_labels(
    rule: Rule, points: Points, chunk_size: int = CHUNK_SIZE, *, noise: bool = False
) -> NDArray[np.intp]:
    """The labels alone (n,), without room for the probabilities."""
    labels = np.empty(len(points), dtype=np.intp)
    for answer in _answers(rule, points, chunk_size, noise):
        labels[answer.rows] = answer.labels
    return labels


def keep_clusters(found: Assignment, order: NDArray[np.intp], chunk_size: int) -> Assignment:
    """Only these clusters (k',), in this order; no point may have another.

    The memory of what was found is used again, chunk by chunk, for there may be no room for more.
    """
    labels, before = found
    rank = np.full(before.shape[1] + 1, NOISE)  # the last place is that of noise, which stays so
    rank[order] = np.arange(len(order))
    after = before if len(order) == before.shape[1] else np.empty((len(labels), len(order)))
    for rows in _chunks(len(labels), chunk_size):
        labels[rows] = rank[labels[rows]]
        kept = before[rows].take(order, 1)
        after[rows] = kept / kept.sum(1, keepdims=True)
    return Assignment(labels, after)


def cluster_sizes(
    labels: NDArray[np.intp], n_clusters: int, counts: NDArray[np.float64] | None = None
) -> NDArray:
    """How many points have each label, (n,) -> (k,); counts (n,) say how much each point counts."""
    inside = labels != NOISE
    return np.bincount(labels[inside], None if counts is None else counts[inside], n_clusters)


def occupied_by_size(
    found: Assignment, counts: NDArray[np.float64] | None = None
) -> NDArray[np.intp]:
    """The clusters that have points, from the largest to the smallest."""
    sizes = cluster_sizes(found.labels, found.probabilities.shape[1], counts)
    order = np.argsort(-sizes, kind="stable")  # the earlier found first among equals
    return order[: np.count_nonzero(sizes)]


def _answers(rule: Rule, points: Points, chunk_size: int, noise: bool) -> Iterator[Answer]:
    for rows in _chunks(len(points), chunk_size):
        # Copied: torch warns of a view of rows that cannot be written, as of a file.
        chunk = torch.tensor(points[rows], device=rule.device)
        log_probabilities = rule.log_probabilities(chunk)
        labels = log_probabilities.argmax(1)
        if noise:
            labels = labels.masked_fill(rule.unwanted(chunk), NOISE)
        yield Answer(rows, labels.cpu().numpy(), log_probabilities)


def _chunks(n_points: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, n_points, size))
