"""A training step as a CUDA graph.

A step on small sets is hundreds of kernels of a few microseconds each, which a GPU runs faster than
Python can launch them. Recorded once, they are replayed without Python; and since most of them
leave the GPU underused, the next batch is drawn in parallel with the training step.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.systems.learning import Learnt

WARM_UP_CALLS = 4  # enough for the optimiser and compiled kernels to allocate their memory


class Recording:
    """A step that trains on one batch and draws the next: eager at first, then replayed.

    The generators are registered with the graph, so that seeding them before a replay determines
    the numbers drawn inside it.
    """

    def __init__(
        self,
        draw: Callable[[], SetBatch],
        learn: Callable[[SetBatch], Learnt],
        generators: Sequence[Generator],
    ) -> None:
        self.draw, self.learn, self.generators = draw, learn, generators
        self.batch: SetBatch | None = None  # the batch of the next step
        self.graph: torch.cuda.CUDAGraph | None = None
        self.beside = torch.cuda.Stream()
        self.calls = 0
        self.learnt = Learnt(torch.empty(()))

    def begin(self) -> None:
        """Draw the first batch."""
        self.batch = self.draw()

    def replay(self) -> Learnt:
        """Train on the current batch and draw the next.

        The tensors passed on to `after_step` stay in the graph's memory until the next replay.
        """
        self.calls += 1
        if self.calls <= WARM_UP_CALLS:
            # On a separate stream, as during recording.
            aside = torch.cuda.Stream()
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                self._step()
            torch.cuda.current_stream().wait_stream(aside)
            return self.learnt
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            for generator in self.generators:
                self.graph.register_generator_state(generator)
            with torch.cuda.graph(self.graph):
                self._step()
        self.graph.replay()
        return self.learnt._replace(loss=self.learnt.loss.clone())

    def _step(self) -> None:
        assert self.batch is not None
        here = torch.cuda.current_stream()
        self.beside.wait_stream(here)
        with torch.cuda.stream(self.beside):
            following = self.draw()
        self.learnt = self.learn(self.batch)
        here.wait_stream(self.beside)
        for old, new in zip(_tensors(self.batch), _tensors(following), strict=True):
            old.copy_(new)


def _tensors(batch: SetBatch) -> tuple[Tensor, ...]:
    labels = () if batch.labels is None else (batch.labels,)
    return batch.points, batch.mask, *labels
