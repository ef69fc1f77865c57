"""Small functions that are compiled for training on a GPU and run eagerly otherwise.

A loop of tiny operations is bound by launches: thousands of kernels of a few microseconds each.
The body of such a loop is marked `fusible`; inside `fusing()` it is compiled to a few kernels.
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
    """The function, compiled inside `fusing()`; it must not draw random numbers."""

    @cache
    def compiled() -> Callable[P, R]:
        return torch.compile(function)

    @wraps(function)
    def chosen(*args: P.args, **kwargs: P.kwargs) -> R:
        return (compiled() if _fusing.get() else function)(*args, **kwargs)

    return chosen


@contextmanager
def fusing(wanted: bool = True) -> Iterator[None]:
    """Compile the fusible functions that are called inside."""
    before = _fusing.set(wanted)
    try:
        yield
    finally:
        _fusing.reset(before)
