"""The contracts of a system, and the states that pass through its loop.

A system either finds clusters one after another (`Sequential`) or answers at once (`Direct`). What
it may bring to its own training beside a loss, `learning.py` says.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.densities.protocol import Density
from coterie.functional.em import Gaussians
from coterie.functional.reduce import any_point
from coterie.systems.traits import Traits

MOST_CLUSTERS = 64  # the step limit of systems that find a new cluster in every step


@dataclass(frozen=True)
class Commit:
    """What one step decides for each of B sets: some points join a cluster.

    joined: (B, N) bool, the points that join, one or many; never one that was assigned before.
    membership_logits: (B, N), the network's logits; -inf for points that were assigned before.
    memory: the reductions of the step, each (B, ...); with them the step can be replayed.
    cluster: (B,) int64, the cluster that the points join, numbered from zero in order of
    appearance; None for a new cluster in every step.
    log_probability: (B,), of the decision where it was drawn at random, else None.
    density: the density of the cluster, where the system has one.
    encoded: what the next step may reuse.
    """

    joined: Tensor
    membership_logits: Tensor
    memory: tuple[Tensor, ...]
    cluster: Tensor | None = None
    log_probability: Tensor | None = None
    density: Density | None = None
    encoded: Any = None

    def of_sets(self, sets: slice) -> "Commit":
        """The same of some of the sets, without what the next step may reuse."""
        return Commit(
            self.joined[sets],
            self.membership_logits[sets],
            tuple(part[sets] for part in self.memory),
            cluster=None if self.cluster is None else self.cluster[sets],
            log_probability=None if self.log_probability is None else self.log_probability[sets],
            density=None if self.density is None else self.density.of_sets(sets),
        )


@dataclass(frozen=True)
class State:
    """Where the sequential loop stands.

    batch: the sets; remaining: (B, N) bool, points without a cluster; commits: the steps so far;
    encoded: what the last step left for the next.
    """

    batch: SetBatch
    remaining: Tensor
    commits: tuple[Commit, ...] = ()
    encoded: Any = None

    def after(self, commit: Commit) -> "State":
        """The state once a commit has been carried out."""
        remaining = self.remaining & ~commit.joined
        commits = (*self.commits, replace(commit, encoded=None))
        return State(self.batch, remaining, commits, commit.encoded)

    def of_set(self, number: int) -> "State":
        """The state of one of the sets."""
        one = slice(number, number + 1)
        batch = SetBatch(self.batch.points[one], self.batch.mask[one])
        return State(
            batch, self.remaining[one], tuple(commit.of_sets(one) for commit in self.commits)
        )

    def log_probabilities(self) -> Tensor | None:
        """How probable the steps of each set were, all together: (B,); None for certain steps."""
        each = [commit.log_probability for commit in self.commits]
        known = [part for part in each if part is not None]
        return torch.stack(known).sum(0) if known and len(known) == len(each) else None

    def with_points(self) -> tuple[Commit, ...]:
        """The commits that some point joined; a GPU is synchronised once."""
        if not self.commits:
            return ()
        joined = torch.stack([commit.joined.any() for commit in self.commits]).tolist()
        return tuple(compress(self.commits, joined))


@dataclass(frozen=True)
class Memberships:
    """The answer of a direct system for B sets of N points.

    log_probabilities: (B, N, K), of each cluster for each point; clusters that a set does not have
    are -inf. memory: what `Direct.read` needs to label further points. mixture: the mixture of
    which these are the memberships, where clusters are Gaussians.
    """

    log_probabilities: Tensor
    memory: tuple[Tensor, ...] = ()
    mixture: Gaussians | None = None


class System(Protocol):
    """What every system has.

    An attribute `item_encoder` (`encoders/protocol.py`) is optional: it turns items, such as
    images, into the vectors that the system reads.
    """

    name: ClassVar[str]

    @property
    def traits(self) -> Traits:
        """What the rest of the package may know of it."""

    @property
    def regions(self) -> tuple[tuple[Any, str], ...]:
        """The methods worth compiling in training, each by its owner and its name."""

    def double(self) -> Self:
        """The system itself, its weights now in float64 (as nn.Module has it)."""

    def loss(self, batch: SetBatch, generator: Generator | None = None) -> Any:
        """The training loss of a labelled batch, a scalar or a `Learnt`."""


@runtime_checkable
class Sequential(System, Protocol):
    """A system that finds clusters one after another.

    Two methods are optional. `accelerated()` gives an equivalent with faster steps, which the loop
    uses unless it is told not to. `density(commit)` gives the density of a commit again from its
    memory, None without one: a rule keeps the memory alone, in its own precision.
    """

    def start(self, batch: SetBatch) -> State:
        """The state before the first step."""

    def step_limit(self, batch: SetBatch) -> int:
        """After how many steps the loop stops, finished or not."""

    def step(self, state: State, generator: Generator | None = None) -> Commit:
        """The next cluster, or the next point, of every set."""

    def finished(self, state: State) -> Tensor:
        """(B,) bool: the sets in which nothing is left to find."""

    def replay(self, points: Tensor, commits: Sequence[Commit]) -> Tensor:
        """Membership logits of any points (B, M, D) in S steps that were taken: (B, M, S)."""


@runtime_checkable
class PointWise(Sequential, Protocol):
    """A sequential system that seats points one after another, each at a cluster or a new one.

    Its commits name their cluster and say how probable they are, so a run is a draw from the joint
    distribution of all labels.
    """

    def sums(self, commits: Sequence[Commit]) -> Tensor:
        """What the points of each cluster add up to in the end: (B, K, P)."""

    def seat(self, points: Tensor, sums: Tensor) -> Tensor:
        """Log-probabilities of the seats of one more point, given the sums of all others.

        Any points (B, M, D), sums (B, K, P) -> (B, M, K + 1), a new cluster at last.
        """

    def seconds_to_seat(self, n_points: int, n_samples: int) -> float:
        """About how long it takes to seat n points, in n_samples draws side by side."""

    def seconds_to_label(self, n_points: int) -> float:
        """About how long `seat` takes for n points."""


@runtime_checkable
class Direct(System, Protocol):
    """A system that gives all memberships of a set at once."""

    def cluster(self, batch: SetBatch, generator: Generator | None = None) -> Memberships:
        """The clusters of every set."""

    def read(self, points: Tensor, memory: tuple[Tensor, ...]) -> Tensor:
        """Log-probabilities of any points (B, M, D) under an answer's memory: (B, M, K)."""


def nothing_left(state: State) -> Tensor:
    """The common end: no point remains, or the last step found none to take. (B,) bool."""
    done = ~any_point(state.remaining)
    if state.commits:
        done = done | ~any_point(state.commits[-1].joined)
    return done


def everything_remains(batch: SetBatch) -> State:
    """The common start: every valid point is still to be assigned."""
    return State(batch, batch.mask)


def cluster_numbers(commits: Sequence[Commit]) -> Tensor:
    """The cluster that each of S steps served in the first set, numbered without gaps: (S,)."""
    named = [commit.cluster[0] for commit in commits if commit.cluster is not None]
    if len(named) < len(commits):
        return torch.arange(len(commits), device=commits[0].joined.device)
    return torch.stack(named).unique(return_inverse=True)[1]


def claimed_labels(commits: Sequence[Commit]) -> Tensor:
    """Which cluster claimed each point, -1 for points that are left over: (B, N)."""
    labels = torch.full(commits[0].joined.shape, -1, device=commits[0].joined.device)
    for number, commit in enumerate(commits):
        cluster = number if commit.cluster is None else commit.cluster[:, None]
        labels = torch.where(commit.joined, cluster, labels)
    return labels


def require_labels(batch: SetBatch) -> Tensor:
    """The labels of a batch that is trained on."""
    if batch.labels is None:
        raise ValueError("training needs labelled sets, this batch has no labels")
    return torch.where(batch.mask, batch.labels, -1)
