"""Small functions that a training run on a GPU compiles, and that everybody else runs as they are.

A loop of tiny operations keeps a GPU waiting: thousands of kernels of some microseconds each. What
stands in such a loop is marked as `fusible`; inside `fusing()` it is compiled to a few kernels.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from typing import ParamSpec, TypeVar

import torch

P = ParamSpec("P")
R = TypeVar("R")
_fusing = ContextVar("fusing", default=False)


def fusible(function: Callable[P, R]) -> Callable[P, R]:
    """The function itself, compiled inside `fusing()`; it draws no random numbers."""

    @cache
    def compiled() -> Callable[P, R]:
        return torch.compile(function)

    @wraps(function)
    def chosen(*args: P.args, **kwargs: P.kwargs) -> R:
        return (compiled() if _fusing.get() else function)(*args, **kwargs)

    return chosen


@contextmanager
def fusing(wanted: bool = True) -> Iterator[None]:
    """Compile what is fusible and called inside."""
    before = _fusing.set(wanted)
    try:
        yield
    finally:
        _fusing.reset(before)
