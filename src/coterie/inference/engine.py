"""One set of points in, a clustering and its rule out.

The loop runs on a context of at most context_size points; the rule it leaves labels all of them,
chunk by chunk. On sets that fit into the context the points are simply all there. Beside the
results nothing grows with the number of points.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement
from torch import Tensor

from coterie.data.batch import SetBatch
from coterie.functional.em import Gaussians
from coterie.inference.consolidate import consolidate
from coterie.inference.loop import find_clusters
from coterie.inference.result import Clustering, Step
from coterie.inference.rules import BranchingRule, MixtureRule, ReplayRule, Rule
from coterie.inference.second_look import look_again
from coterie.systems.protocol import Commit, Sequential, State, claimed_labels


@dataclass(frozen=True)
class InferenceConfig:
    """How to run the loop, and what to do with what it found.

    consolidate: re-estimate the clusters found and take back those that do not pay;
    update_previous: re-estimate them, but keep them all (AMCP*); second_look: where there is a
    density but no consolidation, let the network divide what it sees as several once it stands
    alone.
    """

    consolidate: bool = True
    update_previous: bool = False
    second_look: bool = False
    context_size: int = 10_000
    chunk_size: int = 65_536
    max_steps: int = 64
    device: str = "cpu"


class Points(Protocol):
    """The points of a set (n, D): an array, or what brings its rows when they are asked for."""

    def __len__(self) -> int:
        """The number of points."""

    def __getitem__(self, rows: slice | NDArray[np.intp], /) -> NDArray[np.float32]:
        """Some of the points (m, D)."""


class Outcome(NamedTuple):
    """A clustering, and the rule that labels further points."""

    clustering: Clustering
    rule: Rule


class Assignment(NamedTuple):
    """What a rule says of some points: labels (n,), probabilities (n, k)."""

    labels: NDArray[np.intp]
    probabilities: NDArray[np.float64]


def cluster_points(
    system: Sequential,
    points: Points,
    config: InferenceConfig,
    random_state: np.random.RandomState,
    *,
    columns: int | None = None,
    exact: Sequential | None = None,
) -> Outcome:
    """Cluster the points (n, D) of one set, of which only the first columns hold data.

    exact: the system in float64, where the caller has it; otherwise a copy is made if need be.
    """
    index = _context(len(points), config.context_size, random_state)
    context = np.array(points[index])  # a copy: torch warns of rows that cannot be written
    batch = SetBatch.single(torch.from_numpy(context).to(config.device))
    state = find_clusters(system, batch, max_steps=config.max_steps)
    commits = tuple(commit for commit in state.commits if bool(commit.joined.any()))
    if not commits:
        raise ValueError("the network claims no point at all: its weights are damaged")

    log_likelihood: float | None = None
    dense = commits[0].gaussian is not None
    clusters, looks = commits, []
    if dense and config.second_look and not config.consolidate:
        looks = look_again(system, batch, commits, max_steps=config.max_steps)
        clusters = tuple(cluster for look in looks for cluster in look.clusters())
    rule: Rule
    if dense and (config.consolidate or config.update_previous):
        # On the CPU: a path of small float64 steps that a GPU would only wait for.
        fit = consolidate(
            context[:, :columns],
            claimed_labels(clusters)[0].cpu().numpy(),
            len(clusters),
            change_k=config.consolidate,
            cluster_scale=system.config.cluster_scale,
        )
        rule = MixtureRule.of(fit.mixture, config.device)
        log_likelihood = fit.total / len(context)
    else:
        exact = deepcopy(system).double() if exact is None else exact
        rule = ReplayRule.of(exact, commits)
        if len(clusters) > len(commits):
            rule = BranchingRule.of(exact, commits, [look.parts for look in looks])
        if dense:
            density = MixtureRule(network_mixture(clusters, columns))
            log_likelihood = float(density.log_likelihood(batch.points[0]).mean())

    found = apply(rule, points, config.chunk_size)
    order = occupied_by_size(found)
    found = keep_clusters(found, order, config.chunk_size)
    clustering = Clustering(
        labels=found.labels,
        probabilities=found.probabilities,
        log_likelihood=log_likelihood,
        steps=tuple(_step(cluster, index) for cluster in clusters),
        warnings=_unfinished(state, config.max_steps),
    )
    return Outcome(clustering, rule.select(torch.from_numpy(order).to(config.device)))


def apply(rule: Rule, points: Points, chunk_size: int) -> Assignment:
    """What a rule says of points (n, D), chunk by chunk."""
    labels = np.empty(len(points), dtype=np.intp)
    probabilities = np.empty((len(points), rule.n_clusters))
    for rows, log_probabilities in _answers(rule, points, chunk_size):
        labels[rows] = log_probabilities.argmax(1).cpu().numpy()
        probabilities[rows] = log_probabilities.exp().cpu().numpy()
    return Assignment(labels, probabilities)


def apply_labels(rule: Rule, points: Points, chunk_size: int) -> NDArray[np.intp]:
    """The labels alone (n,), without room for the probabilities."""
    labels = np.empty(len(points), dtype=np.intp)
    for rows, log_probabilities in _answers(rule, points, chunk_size):
        labels[rows] = log_probabilities.argmax(1).cpu().numpy()
    return labels


def keep_clusters(found: Assignment, order: NDArray[np.intp], chunk_size: int) -> Assignment:
    """Only these clusters (k',), in this order; no point may have another.

    The memory of what was found is used again, chunk by chunk, for there may be no room for more.
    """
    labels, before = found
    rank = np.empty(before.shape[1], dtype=np.intp)
    rank[order] = np.arange(len(order))
    after = before if len(order) == len(rank) else np.empty((len(labels), len(order)))
    for rows in _chunks(len(labels), chunk_size):
        labels[rows] = rank[labels[rows]]
        kept = before[rows].take(order, 1)
        after[rows] = kept / kept.sum(1, keepdims=True)
    return Assignment(labels, after)


def network_mixture(commits: tuple[Commit, ...], columns: int | None = None) -> Gaussians:
    """The mixture in the network's own words: each step's Gaussian, weighted by who joined it."""
    gaussians = [commit.gaussian for commit in commits if commit.gaussian is not None]
    sizes = torch.stack([commit.joined[0].sum() for commit in commits]).double()
    return Gaussians(
        (sizes / sizes.sum()).log(),
        torch.cat([gaussian.mean[0] for gaussian in gaussians]).double()[:, :columns],
        torch.cat([gaussian.log_scale[0] for gaussian in gaussians]).double()[:, :columns],
    )


def occupied_by_size(found: Assignment) -> NDArray[np.intp]:
    """The clusters that have points, from the largest to the smallest."""
    sizes = np.bincount(found.labels)
    order = np.argsort(-sizes, kind="stable")  # the earlier found first among equals
    return order[: np.count_nonzero(sizes)]


def _context(n_points: int, size: int, random_state: np.random.RandomState) -> NDArray[np.intp]:
    if n_points <= size:
        return np.arange(n_points)
    # RandomState.choice would permute all points to draw a few.
    return np.sort(sample_without_replacement(n_points, size, random_state=random_state))


def _answers(rule: Rule, points: Points, chunk_size: int) -> Iterator[tuple[slice, Tensor]]:
    """Rows of the points (n, D), and a rule's log-probabilities (m, k) of them."""
    for rows in _chunks(len(points), chunk_size):
        # Copied: torch warns of a view of rows that cannot be written, as of a file.
        yield rows, rule.log_probabilities(torch.tensor(points[rows], device=rule.device))


def _chunks(n_points: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, n_points, size))


def _step(commit: Commit, index: NDArray[np.intp]) -> Step:
    logits = commit.membership_logits[0].cpu()
    offered = torch.isfinite(logits).numpy()
    return Step(
        claimed=index[commit.joined[0].cpu().numpy()],
        offered=index[offered],
        probabilities=logits.sigmoid().numpy()[offered],
    )


def _unfinished(state: State, max_steps: int) -> tuple[str, ...]:
    left = int(state.remaining.sum())
    if not left or len(state.commits) < max_steps:
        return ()
    return (
        f"the network was stopped after {max_steps} steps with {left} points left: the data look"
        " unlike what it was trained on",
    )
