"""What a system proposes for the points that it is shown."""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator

from coterie.data.batch import SetBatch
from coterie.frames.standard import fit_standard
from coterie.functional.matching import sureness
from coterie.inference.restarts import best_run
from coterie.inference.rules.direct import present_clusters
from coterie.inference.samples import Samples, most_probable
from coterie.inference.second_look import Look, look_again, look_closer
from coterie.systems.protocol import (
    Commit,
    Direct,
    Memberships,
    PointWise,
    Sequential,
    State,
    cluster_numbers,
)


class Partition(NamedTuple):
    """Labels (N,), -1 for points without a cluster, and the number of clusters."""

    labels: NDArray[np.integer]
    n_clusters: int


class Proposal(NamedTuple):
    """What a system found among the points that it was shown.

    commits: of a sequential system; looks: one for each commit, where there was a second look;
    memberships: of a direct system; samples: of a point-wise system, all that were drawn; exact:
    the system in float64, where the caller has it.
    """

    system: Sequential | Direct
    commits: tuple[Commit, ...] = ()
    looks: tuple[Look, ...] = ()
    memberships: Memberships | None = None
    samples: Samples | None = None
    exact: Sequential | Direct | None = None

    @property
    def clusters(self) -> tuple[Commit, ...]:
        """The commits, those that a second look divided replaced by their parts."""
        if not self.looks:
            return self.commits
        return tuple(cluster for look in self.looks for cluster in look.clusters())

    @property
    def sure(self) -> float:
        """How sure the system is of its steps, weighted by the points that joined: 0 to 1."""
        if not self.commits:
            return math.nan
        sizes = torch.stack([commit.joined[0].sum() for commit in self.commits]).double()
        sure = torch.stack([sureness(commit.membership_logits[0]) for commit in self.commits])
        return float((sizes * sure).sum() / sizes.sum().clamp_min(1))

    def partition(self) -> Partition:
        """The cluster of each point that was shown."""
        if self.memberships is not None:
            present = present_clusters(self.memberships)
            labels = self.memberships.log_probabilities[0][:, present].argmax(1)
            return Partition(labels.cpu().numpy(), len(present))
        numbers = cluster_numbers(self.clusters)
        joined = torch.stack([cluster.joined[0] for cluster in self.clusters])  # (S, N)
        labels = torch.where(joined, numbers[:, None], -1).amax(0)
        return Partition(labels.cpu().numpy(), int(numbers.max()) + 1)


class Proposed(NamedTuple):
    """What a system found in a context, and warnings about it."""

    proposal: Proposal
    warnings: tuple[str, ...] = ()


def propose(
    system: Sequential | Direct,
    batch: SetBatch,
    generator: Generator,
    *,
    second_look: bool,
    n_samples: int = 1,
    n_restarts: int = 1,
) -> Proposed:
    """What a system finds in one set; second_look: whether it may divide each cluster alone.

    n_samples: how often a point-wise system seats the points, n_restarts: how often another system
    that draws at random is run; the most probable sample or run counts.
    """
    if isinstance(system, Direct):
        with torch.inference_mode():
            memberships = system.cluster(batch, generator)
        return Proposed(Proposal(system, memberships=memberships))
    if isinstance(system, PointWise):
        best = most_probable(system, batch, n_samples, generator)
        return Proposed(Proposal(system, best.commits, samples=best.samples))
    state = best_run(system, batch, n_restarts, generator)
    commits = state.with_points()
    if not commits:
        raise ValueError("the network claims no point at all: its weights are damaged")
    looks = _look(system, batch, commits, generator) if second_look else ()
    return Proposed(Proposal(system, commits, looks), _unfinished(state, system.step_limit(batch)))


def _look(
    system: Sequential,
    batch: SetBatch,
    commits: tuple[Commit, ...],
    generator: Generator,
) -> tuple[Look, ...]:
    """The second look that suits the system: in a frame of its own, or in that of the set.

    In the frame of the set only clusters with a density are divided: without one, bent clusters
    would be divided too often. A system whose steps name their cluster has looked at
    every point already; images of one class alone would have other axes.
    """
    traits = system.traits
    if any(commit.cluster is not None for commit in commits) or traits.reads_images:
        return ()
    if traits.frame == "standard":
        refit_frame = partial(fit_standard, width=traits.columns)
        return look_closer(system, batch, commits, refit_frame, generator=generator)
    if traits.density is not None:
        return look_again(system, batch, commits, generator=generator)
    return ()


def _unfinished(state: State, step_limit: int) -> tuple[str, ...]:
    if len(state.commits) < step_limit or not (left := int(state.remaining.sum())):
        return ()
    return (
        f"the network was stopped after {step_limit} steps with {left} points left: the data look"
        " unlike its training sets",
    )
