"""The one sequential loop: ask for a cluster, take its points away, ask again."""

from dataclasses import replace

from torch import Generator, inference_mode

from coterie.data.batch import SetBatch
from coterie.systems.protocol import Sequential, State


@inference_mode()
def find_clusters(
    system: Sequential,
    batch: SetBatch,
    *,
    max_steps: int = 64,
    generator: Generator | None = None,
) -> State:
    """Run a system until every set is finished or max_steps were taken.

    The final state holds the commits, which are the trace, and the points that are left over. A set
    that is finished stays so, whatever its companions in the batch still need.
    """
    state = system.start(batch)
    for _ in range(max_steps):
        finished = system.finished(state)
        if bool(finished.all()):
            break
        commit = system.step(state, generator)
        state = state.after(replace(commit, joined=commit.joined & ~finished[:, None]))
    return state
