"""The one sequential loop: find a cluster, remove its points, repeat."""

from dataclasses import replace
from typing import Any

from torch import Generator, Tensor, inference_mode

from coterie.data.batch import SetBatch
from coterie.systems.protocol import Direct, Sequential, State, claimed_labels


@inference_mode()
def find_clusters(
    system: Sequential,
    batch: SetBatch,
    *,
    generator: Generator | None = None,
    accelerate: bool = True,
    most_steps: int | None = None,
) -> State:
    """Run a system until every set is finished or its step limit is reached.

    accelerate: whether the system's accelerated steps may be used, where it has any; most_steps:
    a limit below the system's own.

    The final state holds the commits, which are the trace, and the points that are left over. A set
    that is finished stays so, whatever its companions in the batch still need.
    """
    accelerated: Any = getattr(system, "accelerated", None)
    steps: Sequential = system if accelerated is None or not accelerate else accelerated()
    state = steps.start(batch)
    limit = system.step_limit(batch)
    for _ in range(limit if most_steps is None else min(limit, most_steps)):
        finished = steps.finished(state)
        if bool(finished.all()):
            break
        commit = steps.step(state, generator)
        state = state.after(replace(commit, joined=commit.joined & ~finished[:, None]))
    return state


@inference_mode()
def find_labels(
    system: Sequential | Direct, batch: SetBatch, *, generator: Generator | None = None
) -> Tensor:
    """The cluster of every point, as the system finds it: (B, N), -1 for points left over."""
    if isinstance(system, Direct):
        return system.cluster(batch, generator).log_probabilities.argmax(-1)
    return claimed_labels(find_clusters(system, batch, generator=generator).commits)
