"""Several runs of a system that draws at random, of which the most probable is kept."""

from torch import Generator

from coterie.data.batch import SetBatch
from coterie.inference.loop import find_clusters
from coterie.systems.protocol import Sequential, State


def best_run(system: Sequential, batch: SetBatch, n_restarts: int, generator: Generator) -> State:
    """The best of n_restarts runs on a single set, side by side, by `log_probability`.

    A system whose steps have no probability takes the same steps in every run: the first counts.
    """
    if n_restarts == 1:
        return find_clusters(system, batch, generator=generator)
    state = find_clusters(system, batch.repeated(n_restarts), generator=generator)
    total = state.log_probabilities()
    return state.of_set(0 if total is None else int(total.argmax()))
