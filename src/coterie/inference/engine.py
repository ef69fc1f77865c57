"""One set of points in, a clustering and its rule out.

The loop runs on a context of at most context_size points; the rule it leaves labels all of them,
chunk by chunk. On sets that fit into the context the points are simply all there.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coterie.data.batch import SetBatch
from coterie.functional.em import Gaussians
from coterie.functional.partitions import canonical, size_order
from coterie.inference.consolidate import consolidate
from coterie.inference.loop import find_clusters
from coterie.inference.result import Clustering, Step
from coterie.inference.rules import MixtureRule, ReplayRule, Rule
from coterie.systems.protocol import Commit, Sequential, State


@dataclass(frozen=True)
class InferenceConfig:
    """How to run the loop, and what to do with what it found.

    consolidate: re-estimate the clusters found and take back those that do not pay;
    update_previous: re-estimate them, but keep them all (AMCP*).
    """

    consolidate: bool = True
    update_previous: bool = False
    context_size: int = 10_000
    chunk_size: int = 65_536
    max_steps: int = 64
    device: str = "cpu"


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
    points: NDArray[np.float32],
    config: InferenceConfig,
    random_state: np.random.RandomState,
    *,
    columns: int | None = None,
) -> Outcome:
    """Cluster the points (n, D) of one set, of which only the first columns hold data."""
    index = _context(len(points), config.context_size, random_state)
    context = torch.from_numpy(points[index]).to(config.device)
    state = find_clusters(system, SetBatch.single(context), max_steps=config.max_steps)
    commits = tuple(commit for commit in state.commits if bool(commit.joined.any()))
    if not commits:
        raise ValueError("the network claims no point at all: its weights are damaged")
    labels = claimed_labels(commits)[0]

    density: MixtureRule | None = None
    if all(commit.gaussian is not None for commit in commits):
        sizes = torch.bincount(labels[labels >= 0])
        density = MixtureRule(network_mixture(commits, sizes, columns))
    rule: Rule
    if density is not None and (config.consolidate or config.update_previous):
        mixture = consolidate(context[:, :columns], labels, len(commits), remove=config.consolidate)
        rule = density = MixtureRule(mixture)
    else:
        rule = ReplayRule.of(system, commits)

    found = apply(rule, points, config.chunk_size)
    order = occupied_by_size(found)
    clustering = Clustering(
        labels=canonical(torch.from_numpy(found.labels)).numpy(),
        probabilities=_renormalise(found.probabilities[:, order]),
        log_likelihood=None if density is None else float(density.log_likelihood(context).mean()),
        steps=tuple(_step(commit, index) for commit in commits),
        warnings=_unfinished(state, config.max_steps),
    )
    return Outcome(clustering, rule.select(torch.from_numpy(order).to(config.device)))


def apply(rule: Rule, points: NDArray[np.float32], chunk_size: int) -> Assignment:
    """Label points (n, D) by a rule, chunk by chunk."""
    labels, probabilities = [], []
    for start in range(0, len(points), chunk_size):
        chunk = torch.from_numpy(points[start : start + chunk_size]).to(rule.device)
        log_probabilities = rule.log_probabilities(chunk).cpu()
        labels.append(log_probabilities.argmax(1).numpy())
        probabilities.append(log_probabilities.exp().numpy())
    return Assignment(np.concatenate(labels), np.concatenate(probabilities))


def claimed_labels(commits: tuple[Commit, ...]) -> Tensor:
    """Which step claimed each point, -1 for points that are left over: (B, N)."""
    labels = torch.full(commits[0].joined.shape, -1, device=commits[0].joined.device)
    for number, commit in enumerate(commits):
        labels = torch.where(commit.joined, number, labels)
    return labels


def network_mixture(
    commits: tuple[Commit, ...], sizes: Tensor, columns: int | None = None
) -> Gaussians:
    """The mixture in the network's own words: each step's Gaussian, weighted by sizes (K,)."""
    gaussians = [commit.gaussian for commit in commits if commit.gaussian is not None]
    return Gaussians(
        (sizes.double() / sizes.sum()).log(),
        torch.cat([gaussian.mean[0] for gaussian in gaussians]).double()[:, :columns],
        torch.cat([gaussian.log_scale[0] for gaussian in gaussians]).double()[:, :columns],
    )


def occupied_by_size(found: Assignment) -> NDArray[np.intp]:
    """The clusters that have points, from the largest to the smallest."""
    n_clusters = found.probabilities.shape[1]
    sizes = np.bincount(found.labels, minlength=n_clusters)
    order = size_order(torch.from_numpy(found.labels), n_clusters).numpy()
    return order[sizes[order] > 0]


def _context(n_points: int, size: int, random_state: np.random.RandomState) -> NDArray[np.intp]:
    if n_points <= size:
        return np.arange(n_points)
    return np.sort(random_state.choice(n_points, size, replace=False))


def _renormalise(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return probabilities / probabilities.sum(1, keepdims=True)


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
