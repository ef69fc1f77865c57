"""Several runs of a system that draws at random, of which the most probable is kept."""

from dataclasses import replace

import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.inference.loop import find_clusters
from coterie.systems.protocol import Commit, Sequential, State


def best_run(system: Sequential, batch: SetBatch, n_restarts: int, generator: Generator) -> State:
    """The best of n_restarts runs on a single set, side by side, by `log_probability`.

    A system whose steps have no probability takes the same steps in every run: it runs once.
    """
    if n_restarts == 1:
        return find_clusters(system, batch, generator=generator)
    runs = SetBatch(_repeated(batch.points, n_restarts), _repeated(batch.mask, n_restarts))
    state = find_clusters(system, runs, generator=generator)
    total = log_probabilities(state)
    best = 0 if total is None else int(total.argmax())
    chosen = slice(best, best + 1)
    commits = tuple(_of_sets(commit, chosen) for commit in state.commits)
    return State(batch, state.remaining[chosen], commits)


def log_probabilities(state: State) -> Tensor | None:
    """How probable the steps of each set were, all together: (B,); None for certain steps."""
    each = [commit.log_probability for commit in state.commits]
    known = [part for part in each if part is not None]
    return torch.stack(known).sum(0) if known and len(known) == len(each) else None


def _repeated(tensor: Tensor, times: int) -> Tensor:
    """A single set (1, ...) as many: (times, ...)."""
    return tensor.expand(times, *tensor.shape[1:])


def _of_sets(commit: Commit, sets: slice) -> Commit:
    return replace(
        commit,
        joined=commit.joined[sets],
        membership_logits=commit.membership_logits[sets],
        memory=tuple(part[sets] for part in commit.memory),
        cluster=None if commit.cluster is None else commit.cluster[sets],
        log_probability=None if commit.log_probability is None else commit.log_probability[sets],
        density=None if commit.density is None else commit.density.of_sets(sets),
    )
