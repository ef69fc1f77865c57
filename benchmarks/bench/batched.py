"""Many sets at once: seconds per set of the loop on one batch, compared with DAC of equal width."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn.utils.rnn import pad_sequence

from bench.models import loop_labels, open_network, run_loop
from bench.race import Progress
from bench.sets import LabelledSet
from bench.timing import Spread, Timed, spread, timed
from coterie import metrics
from coterie.data.batch import SetBatch
from coterie.systems.dac.minimum_loss import DAC
from coterie.systems.protocol import Commit, Sequential, State, require_labels
from coterie.systems.registry import build

DAC_NAME, TRAINED_DAC = "DAC", "dac-mog2d"
# Of torch.set_float32_matmul_precision: "highest" is float32 proper, "high" is TF32 on a GPU.
PRECISIONS = {"cpu": ("highest",), "cuda": ("highest", "high")}


class Runner(NamedTuple):
    """A system with one precision of matrix products."""

    name: str
    details: str
    precision: str
    system: Sequential


class Lap(NamedTuple):
    """A runner's seconds per set, the number of steps of its loop, and its mean ARI.

    times_dac: the ratio of its median to that of DAC in the same run and precision.
    """

    name: str
    details: str
    precision: str
    seconds_per_set: Spread
    steps: int
    ari: float
    times_dac: float | None = None


class Batched(NamedTuple):
    """All runners on the same batch, in turn."""

    setting: str
    n_sets: int
    laps: tuple[Lap, ...]


class ToldDAC:
    """An untrained DAC that computes every step in full, but assigns the true clusters.

    Left to itself it would stop at once or never; with the true clusters, largest first, it takes
    the steps of an error-free DAC.
    """

    def __init__(self, network: DAC) -> None:
        self._network = network

    def start(self, batch: SetBatch) -> State:
        return self._network.start(batch)

    def step(self, state: State, generator: Generator | None = None) -> Commit:
        commit = self._network.step(state, generator)
        labels = torch.where(state.remaining, require_labels(state.batch), -1)  # (B, N)
        clusters = torch.arange(int(labels.max()) + 1, device=labels.device)
        largest = (labels[..., None] == clusters).sum(1).argmax(1)  # (B,)
        return replace(commit, joined=labels == largest[:, None])

    def step_limit(self, batch: SetBatch) -> int:
        return self._network.step_limit(batch)

    def finished(self, state: State) -> Tensor:
        return self._network.finished(state)


def runners(weights: str, device: str) -> tuple[Runner, ...]:
    """The weights, then DAC of the same width, both in each precision of the device."""
    network = open_network(weights, device)
    width = network.width
    rival, details = _dac(width, device)
    return tuple(
        Runner(name, about, precision, cast(Sequential, system))
        for precision in PRECISIONS[torch.device(device).type]
        for name, about, system in (
            (weights, f"{network.kind}, width {width}", network.system),
            (DAC_NAME, details, rival),
        )
    )


def time_batched(
    field: Sequence[Runner],
    sets: Sequence[LabelledSet],
    *,
    setting: str,
    device: str,
    rounds: int,
    progress: Progress | None = None,
) -> Batched:
    """Run all runners on one batch of the sets, in turn, after a warm-up each."""
    batch = pad(sets).to(device)
    answers = [_answer(_run(runner, batch, device).result) for runner in field]
    seconds: list[list[float]] = [[] for _ in field]
    for number in range(rounds):
        for turn in range(len(field)):
            at = (number + turn) % len(field)
            seconds[at].append(_run(field[at], batch, device).seconds / len(sets))
        if progress is not None:
            progress(f"{setting} batched", number + 1, rounds)
    laps = [
        Lap(runner.name, runner.details, runner.precision, spread(each), *answer)
        for runner, each, answer in zip(field, seconds, answers, strict=True)
    ]
    return Batched(setting, len(sets), compare(laps))


def compare(laps: Sequence[Lap]) -> tuple[Lap, ...]:
    """The same laps with their ratios to DAC in the same precision."""
    dac = {lap.precision: lap.seconds_per_set.median for lap in laps if lap.name == DAC_NAME}
    return tuple(
        lap._replace(times_dac=lap.seconds_per_set.median / dac[lap.precision]) for lap in laps
    )


def pad(sets: Sequence[LabelledSet]) -> SetBatch:
    """Sets (n, D) of any sizes as one batch."""
    points = pad_sequence([torch.from_numpy(each.points) for each in sets], batch_first=True)
    labels = pad_sequence(
        [torch.from_numpy(each.labels) for each in sets], batch_first=True, padding_value=-1
    )
    return SetBatch(points, labels >= 0, labels)


@contextmanager
def matmul_precision(precision: str) -> Iterator[None]:
    """Set the precision of float32 matrix products, and restore it afterwards."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


class _Answer(NamedTuple):
    steps: int
    ari: float


def _answer(state: State) -> _Answer:
    truth = require_labels(state.batch).cpu().numpy()
    found = loop_labels(state)
    valid = truth >= 0
    scores = [
        metrics.ari(row[inside], claimed[inside])
        for row, claimed, inside in zip(truth, found, valid, strict=True)
    ]
    return _Answer(len(state.commits), float(np.mean(scores)))


def _run(runner: Runner, batch: SetBatch, device: str) -> Timed[State]:
    with matmul_precision(runner.precision):
        return timed(lambda: run_loop(runner.system, batch), device)


def _dac(width: int, device: str) -> tuple[DAC | ToldDAC, str]:
    trained = open_network(TRAINED_DAC, device)
    if trained.width == width:
        return cast(DAC, trained.system), f"{TRAINED_DAC}, width {width}"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        fresh = build("dac", {"columns": 2, "k_max": 12, "width": width})
    network = fresh.requires_grad_(False).to(device)
    return ToldDAC(cast(DAC, network)), f"told the truth, width {width}"
