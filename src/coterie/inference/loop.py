"""The one sequential loop: ask for a cluster, take its points away, ask again."""

from dataclasses import replace

from torch import Generator, inference_mode

from coterie.data.batch import SetBatch
from coterie.systems.amcp.recording import recorded
from coterie.systems.protocol import Sequential, State


@inference_mode()
def find_clusters(
    system: Sequential,
    batch: SetBatch,
    *,
    max_steps: int = 64,
    generator: Generator | None = None,
    record: bool = True,
) -> State:
    """Run a system until every set is finished or max_steps were taken.

    record: whether steps may be recorded and replayed on a GPU, where nobody can watch them.

    The final state holds the commits, which are the trace, and the points that are left over. A set
    that is finished stays so, whatever its companions in the batch still need.
    """
    steps = recorded(system) if record else system
    state = steps.start(batch)
    for _ in range(max_steps):
        finished = steps.finished(state)
        if bool(finished.all()):
            break
        commit = steps.step(state, generator)
        state = state.after(replace(commit, joined=commit.joined & ~finished[:, None]))
    return state
