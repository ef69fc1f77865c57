"""AMCP on a GPU: its arithmetic is captured once for each shape of sets, then replayed.

A step is a hundred small kernels, which a GPU runs several times faster than Python can launch
them. As CUDA graphs the encoder and the step are one call each. A recording serves one loop at a
time: the sets at work are stored in its own tensors.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import torch
from torch import Generator, Tensor
from torch.nn.functional import logsigmoid

from coterie.data.batch import Compaction, SetBatch, compact
from coterie.functional.reduce import count_points, is_sharded
from coterie.systems.amcp.network import AMCPNetwork
from coterie.systems.amcp.parts import Belief, Features, Found
from coterie.systems.protocol import Commit, State

BUCKET = 128  # sets are padded to a multiple of this many points, so that few shapes are recorded
MOST_SHAPES = 16
WARM_UP_CALLS = 2


class Steps(Hashable, Protocol):
    """What a recording needs of the system whose steps it records."""

    network: AMCPNetwork

    @property
    def encodes_once(self) -> bool: ...
    def start(self, batch: SetBatch) -> State: ...
    def finished(self, state: State) -> Tensor: ...
    def step(self, state: State, generator: Generator | None = None) -> Commit: ...
    def find(
        self, features: Features, mask: Tensor, n_points: Tensor, finished: Tensor, refused: Tensor
    ) -> Found: ...
    def commit(
        self, left: Compaction, slots: tuple[Tensor, ...], found: Found, encoded: Any
    ) -> Commit: ...


def recorded(system: Steps) -> "Steps | RecordedAMCP":
    """The system itself, or one that replays its steps, where it encodes once on a GPU."""
    if not system.encodes_once or is_sharded():
        return system
    if next(system.network.parameters()).device.type != "cuda":
        return system
    return _recorder(system)


class RecordedAMCP:
    """The steps of an AMCP network, by recordings.

    A shape is recorded when it comes for the second time: a recording costs some thirty steps.
    """

    def __init__(self, system: Steps) -> None:
        self.system = system
        self.seen: OrderedDict[tuple[int, int, str], Program | None] = OrderedDict()

    def start(self, batch: SetBatch) -> State:
        return self.system.start(batch)

    def finished(self, state: State) -> Tensor:
        return self.system.finished(state)

    def step(self, state: State, generator: Generator | None = None) -> Commit:
        if not state.commits:
            left = compact(state.remaining)
            if (program := self._program(left)) is None:
                return self.system.step(state, generator)
            n_points = count_points(state.batch.mask)
            slots = program.encode(left.take(state.batch.points), left.mask, n_points)
            at_work = AtWork(left, slots, program)
        elif isinstance(state.encoded, AtWork):
            at_work = state.encoded
        else:
            return self.system.step(state, generator)
        left, slots, program = at_work
        found = program.find(left.mask & left.take(state.remaining))
        return self.system.commit(left, slots, found, at_work)

    def _program(self, left: Compaction) -> "Program | None":
        """The recording for sets of this shape, None when such sets come for the first time."""
        n_sets, length = left.mask.shape
        shape = (n_sets, -(-length // BUCKET) * BUCKET)
        key = (*shape, torch.get_float32_matmul_precision())  # a recording keeps its kernels
        if key not in self.seen:
            self.seen[key] = None
        elif self.seen[key] is None:
            self.seen[key] = Program(self.system, *shape)
        self.seen.move_to_end(key)
        if len(self.seen) > MOST_SHAPES:
            self.seen.popitem(last=False)
        return self.seen[key]


@lru_cache(maxsize=4)
def _recorder(system: Steps) -> RecordedAMCP:
    return RecordedAMCP(system)


class AtWork(NamedTuple):
    """What a step leaves for the next: who is there, the encoding, and where it is at work."""

    left: Compaction
    slots: tuple[Tensor, ...]
    program: "Program"


class Program:
    """The encoder and the step for B sets of M points, which stand in tensors of their own."""

    def __init__(self, system: Steps, n_sets: int, length: int) -> None:
        network = system.network
        weight = next(network.parameters())
        self.points = weight.new_zeros(n_sets, length, network.config.columns)
        self.mask = torch.ones(n_sets, length, dtype=torch.bool, device=weight.device)
        self.remaining = self.mask.clone()
        self.n_points = count_points(self.mask)
        self.finished = weight.new_zeros(n_sets, 1, network.config.width)
        self.refused = weight.new_zeros(n_sets, length, 1)
        self._encode = Recorded(lambda: network.encode(self.points, self.mask))
        self.features, self.slots = self._encode.outputs
        self._find = Recorded(lambda: self._next(system))

    def encode(self, points: Tensor, mask: Tensor, n_points: Tensor) -> tuple[Tensor, ...]:
        """Begin with other sets, at most M points each: the slots of their encoding."""
        _fill(self.points, points)
        _fill(self.mask, mask)
        self.n_points.copy_(n_points)
        self.finished.zero_()
        self.refused.zero_()
        self._encode.replay()
        return tuple(slot.clone() for slot in self.slots)

    def find(self, mask: Tensor) -> Found:
        """The next cluster among the points (B, m) that are left."""
        _fill(self.remaining, mask)
        self._find.replay()
        found: Found = self._find.outputs
        length = mask.shape[1]
        first, last = (
            Belief(*(part.clone() for part in each)) for each in (found.first, found.last)
        )
        return Found(
            found.claimed[:, :length].clone(),
            found.logits[:, :length].clone(),
            first,
            last,
            tuple(slot.clone() for slot in found.decoder_slots),
            found.summary.clone(),
        )

    def _next(self, system: Steps) -> Found:
        found = system.find(
            self.features, self.remaining, self.n_points, self.finished, self.refused
        )
        self.finished.add_(found.summary)
        self.refused.add_(logsigmoid(-found.logits)[..., None])
        return found


class Recorded:
    """A function of tensors that stay where they are: its outputs are renewed by every replay."""

    def __init__(self, function: Callable[[], Any]) -> None:
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP_CALLS):
                function()
        torch.cuda.current_stream().wait_stream(aside)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.outputs = function()

    def replay(self) -> None:
        self.graph.replay()


def _fill(place: Tensor, values: Tensor) -> None:
    """The values (B, m, ...) at the front of a place (B, M, ...), nothing behind them."""
    length = values.shape[1]
    place[:, :length].copy_(values)
    place[:, length:].zero_()
