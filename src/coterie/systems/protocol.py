"""What a system offers: the sequential contract, and the states that pass through it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, ClassVar, Protocol, Self

import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.functional.em import Gaussians
from coterie.functional.reduce import any_point


@dataclass(frozen=True)
class Commit:
    """What one step decides for each of B sets: some points join a cluster.

    joined: (B, N) bool, the points that join; never one that was assigned before.
    membership_logits: (B, N), the network's belief; -inf for points that were assigned before.
    memory: the reductions of the step, each (B, ...); with them the step can be replayed.
    gaussian: mean and log_scale (B, 1, D) of the cluster where the system has such a density.
    encoded: what the next step may use again.
    """

    joined: Tensor
    membership_logits: Tensor
    memory: tuple[Tensor, ...]
    gaussian: Gaussians | None = None
    encoded: Any = None


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

    def with_points(self) -> tuple[Commit, ...]:
        """The commits that some point joined; a GPU is waited for once."""
        if not self.commits:
            return ()
        joined = torch.stack([commit.joined.any() for commit in self.commits]).tolist()
        return tuple(compress(self.commits, joined))


class Sequential(Protocol):
    """A system that finds clusters one after another."""

    name: ClassVar[str]
    regions: ClassVar[tuple[str, ...]]  # the methods that are worth compiling in training

    @property
    def config(self) -> Any:
        """The frozen dataclass the network was built from."""

    def double(self) -> Self:
        """The system itself, its weights now in float64 (as nn.Module has it)."""

    def start(self, batch: SetBatch) -> State:
        """The state before the first step."""

    def step(self, state: State, generator: Generator | None = None) -> Commit:
        """The next cluster of every set."""

    def finished(self, state: State) -> Tensor:
        """(B,) bool: the sets in which nothing is left to find."""

    def replay(self, points: Tensor, commits: Sequence[Commit]) -> Tensor:
        """Membership logits of any points (B, M, D) in K steps that were taken: (B, M, K)."""

    def loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        """The training loss of a labelled batch, a scalar."""


def nothing_left(state: State) -> Tensor:
    """The common end: no point remains, or the last step found none to take. (B,) bool."""
    done = ~any_point(state.remaining)
    if state.commits:
        done = done | ~any_point(state.commits[-1].joined)
    return done


def everything_remains(batch: SetBatch) -> State:
    """The common start: every valid point is still to be assigned."""
    return State(batch, batch.mask)


def claimed_labels(commits: Sequence[Commit]) -> Tensor:
    """Which step claimed each point, -1 for points that are left over: (B, N)."""
    labels = torch.full(commits[0].joined.shape, -1, device=commits[0].joined.device)
    for number, commit in enumerate(commits):
        labels = torch.where(commit.joined, number, labels)
    return labels


def require_labels(batch: SetBatch) -> Tensor:
    """The labels of a batch that is trained on."""
    if batch.labels is None:
        raise ValueError("training needs labelled sets, this batch has no labels")
    return torch.where(batch.mask, batch.labels, -1)
