"""Reliable timings: the device is synchronised, and repeats are summarised by quartiles."""

import time
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch

T = TypeVar("T")


class Timed(NamedTuple, Generic[T]):
    """The result of a call, and its duration."""

    result: T
    seconds: float


class Spread(NamedTuple):
    """The quartiles of repeated timings, in seconds, and their number."""

    median: float
    lower: float
    upper: float
    repeats: int


def timed(call: Callable[[], T], device: str = "cpu") -> Timed[T]:
    """Time one call; a GPU works asynchronously, so it is synchronised before and after."""
    _wait(device)
    start = time.perf_counter()
    result = call()
    _wait(device)
    return Timed(result, time.perf_counter() - start)


def spread(seconds: Sequence[float]) -> Spread:
    """The quartiles of one or more timings."""
    lower, median, upper = (float(value) for value in np.quantile(seconds, (0.25, 0.5, 0.75)))
    return Spread(median, lower, upper, len(seconds))


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float | None:
    """The least-squares slope of log value on log size; None with fewer than two values above 0."""
    pairs = [(size, value) for size, value in zip(sizes, values, strict=True) if value > 0]
    if len({size for size, _ in pairs}) < 2:
        return None
    log_size, log_value = np.log(np.array(pairs, dtype=np.float64)).T
    return float(np.polyfit(log_size, log_value, 1)[0])


def _wait(device: str) -> None:
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)
