"""Apply a rule to many points, chunk by chunk.

Apart from the results, memory does not grow with the number of points.
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
    """The points of a set (n, D): an array, or an object that loads rows on access."""

    def __len__(self) -> int:
        """The number of points."""

    def __getitem__(self, rows: slice | NDArray[np.intp], /) -> NDArray[np.float32]:
        """Some of the points (m, D)."""


class Assignment(NamedTuple):
    """The clusters of some points: labels (n,), probabilities (n, k)."""

    labels: NDArray[np.intp]
    probabilities: NDArray[np.float64]


class Answer(NamedTuple):
    """The clusters of a chunk: its rows, labels (m,), log-probabilities (m, k)."""

    rows: slice
    labels: NDArray[np.intp]
    log_probabilities: Tensor


def apply(
    rule: Rule, points: Points, chunk_size: int = CHUNK_SIZE, *, noise: bool = False
) -> Assignment:
    """Assign points (n, D) to clusters; with noise, points that fit no cluster are labelled -1."""
    labels = np.empty(len(points), dtype=np.intp)
    probabilities = np.empty((len(points), rule.n_clusters))
    for answer in _answers(rule, points, chunk_size, noise):
        labels[answer.rows] = answer.labels
        probabilities[answer.rows] = answer.log_probabilities.exp().cpu().numpy()
    return Assignment(labels, probabilities)


def apply_labels(
    rule: Rule, points: Points, chunk_size: int = CHUNK_SIZE, *, noise: bool = False
) -> NDArray[np.intp]:
    """The labels alone (n,); the probabilities are not stored."""
    labels = np.empty(len(points), dtype=np.intp)
    for answer in _answers(rule, points, chunk_size, noise):
        labels[answer.rows] = answer.labels
    return labels


def keep_clusters(found: Assignment, order: NDArray[np.intp], chunk_size: int) -> Assignment:
    """Keep only these clusters (k',), in this order; no point may have a label outside them.

    The arrays are overwritten chunk by chunk, because a second copy may not fit in memory.
    """
    labels, before = found
    rank = np.full(before.shape[1] + 1, NOISE)  # index -1 maps noise to itself
    rank[order] = np.arange(len(order))
    after = before if len(order) == before.shape[1] else np.empty((len(labels), len(order)))
    for rows in chunks(len(labels), chunk_size):
        labels[rows] = rank[labels[rows]]
        kept = before[rows].take(order, 1)
        after[rows] = kept / kept.sum(1, keepdims=True)
    return Assignment(labels, after)


def cluster_sizes(
    labels: NDArray[np.intp], n_clusters: int, counts: NDArray[np.float64] | None = None
) -> NDArray:
    """The number of points with each label, (n,) -> (k,); counts (n,) are weights of the points."""
    inside = labels != NOISE
    return np.bincount(labels[inside], None if counts is None else counts[inside], n_clusters)


def occupied_by_size(
    found: Assignment, counts: NDArray[np.float64] | None = None
) -> NDArray[np.intp]:
    """The non-empty clusters, from the largest to the smallest."""
    sizes = cluster_sizes(found.labels, found.probabilities.shape[1], counts)
    order = np.argsort(-sizes, kind="stable")  # ties keep the order of discovery
    return order[: np.count_nonzero(sizes)]


def _answers(rule: Rule, points: Points, chunk_size: int, noise: bool) -> Iterator[Answer]:
    for rows in chunks(len(points), chunk_size):
        # Copied: torch warns about read-only arrays, such as a memory-mapped file.
        chunk = torch.tensor(points[rows], device=rule.device)
        log_probabilities = rule.log_probabilities(chunk)
        labels = log_probabilities.argmax(1)
        _require_numbers(log_probabilities, labels)
        if noise:
            labels = labels.masked_fill(rule.unwanted(chunk), NOISE)
        yield Answer(rows, labels.cpu().numpy(), log_probabilities)


def _require_numbers(log_probabilities: Tensor, labels: Tensor) -> None:
    """Refuse answers (m, k) of a network whose weights are finite and yet too large."""
    if not bool(log_probabilities.gather(1, labels[:, None]).isfinite().all()):
        raise ValueError("the network's memberships are not finite: its weights are damaged")


def chunks(n_points: int, size: int) -> Iterator[slice]:
    """Slices of at most size that cover n_points."""
    return (slice(start, start + size) for start in range(0, n_points, size))
