"""The speed benchmark: all timings, the machine and the growth, in one run and one report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

import torch

from bench.alone import Alone, time_alone
from bench.batched import Batched, pad, runners, time_batched
from bench.ceilings import Ceilings, Work, measure_ceilings, weigh
from bench.command import command
from bench.growth import SMALLEST, Growth, measure_growth
from bench.machine import Stopwatch, describe_machine
from bench.models import open_network
from bench.mog import SETTINGS
from bench.race import Progress
from bench.report import Table
from bench.sets import Setting, draw_sets
from bench.speed_tables import tables

DEVICES = ("cpu", "cuda")
COLUMNS = 2


@dataclass(frozen=True)
class Sizes:
    """What is timed: the sets, a batch of them, the repeats, and the sizes for the ceilings."""

    alone: Setting = SETTINGS[0]
    batched: Setting = SETTINGS[1]
    batch: int = 100
    rounds: int = 5
    matrix: int = 4096
    copied_bytes: int = 2**30


SIZES = {"cpu": Sizes(batch=20, rounds=3, matrix=2048, copied_bytes=2**28), "cuda": Sizes()}


@dataclass(frozen=True)
class SpeedReport:
    """All parts, with the machine and the time."""

    command: str
    date: str
    seed: int
    device: str
    machine: dict[str, Any]
    alone: Alone
    batched: Batched
    ceilings: Ceilings
    work: tuple[Work, ...]
    growth: Growth

    @property
    def name(self) -> str:
        """The name of the results file."""
        return f"speed-{self.device}"

    def to_json(self) -> dict[str, Any]:
        """The whole report as JSON-compatible data; times in seconds, ratios within this run."""
        parts = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return {"benchmark": self.name, **parts}

    def tables(self) -> list[Table]:
        """One set per call, a batch, the growth, the ceilings."""
        return tables(self.device, self.alone, self.batched, self.ceilings, self.work, self.growth)


def refuse_unfit(device: str, weights: Sequence[str], batched: str, max_points: int) -> None:
    """Raise for arguments that cannot be measured, before any measurement."""
    if device not in DEVICES:
        raise ValueError(f"device must be one of {', '.join(DEVICES)}, got {device!r}")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("this machine has no CUDA device that torch can use")
    if not weights:
        raise ValueError("give weights to measure")
    if max_points < SMALLEST:
        raise ValueError(f"max_points must be {SMALLEST} or more, got {max_points}")
    for name in (*weights, batched):
        columns = open_network(name).columns
        if columns != COLUMNS:
            raise ValueError(f"{name} reads {columns} columns, the sets have {COLUMNS}")


def run_speed(
    device: str = "cpu",
    weights: Sequence[str] = ("amcp-mog2d",),
    batched: str = "amcp-mog2d-wide",
    max_points: int = 10_000_000,
    n_sets: int = 100,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    sizes: Sizes | None = None,
) -> SpeedReport:
    """Time the weights on one set per call, batched on a batch, the first weights as n grows.

    progress(label, done, total) is called after each set, round and size.
    """
    refuse_unfit(device, weights, batched, max_points)
    sizes = sizes or SIZES[device]
    stopwatch, date = Stopwatch(), datetime.now(UTC).isoformat(timespec="seconds")
    alone = time_alone(
        sizes.alone, weights, device=device, n_sets=n_sets, seed=seed, progress=progress
    )
    sets = draw_sets(sizes.batched, min(n_sets, sizes.batch), seed)
    field = runners(batched, device)
    laps = time_batched(
        field,
        sets,
        setting=sizes.batched.title,
        device=device,
        rounds=sizes.rounds,
        progress=progress,
    )
    ceilings = measure_ceilings(device, matrix=sizes.matrix, copied_bytes=sizes.copied_bytes)
    work = weigh(field, laps, pad(sets).to(device), ceilings)
    # Before the growth, whose subprocesses would count as other processes.
    machine = {**_machine(device), "others_cpu_share": stopwatch.others_share()}
    growth = measure_growth(
        weights[0], device=device, max_points=max_points, seed=seed, progress=progress
    )
    asked = command(
        "speed",
        device=device,
        weights=[*weights],
        batched=batched,
        max_points=max_points,
        sets=n_sets,
        seed=seed,
    )
    return SpeedReport(asked, date, seed, device, machine, alone, laps, ceilings, work, growth)


def _machine(device: str) -> dict[str, Any]:
    if device == "cpu":
        return describe_machine()
    gpu = {"gpu": torch.cuda.get_device_name(device), "cuda": torch.version.cuda}
    return {**describe_machine(), **gpu}


def _plain(value: Any) -> Any:
    """Named tuples as mappings, recursively."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
