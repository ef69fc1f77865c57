"""One thread for small sets.

On a few thousand points threads wait for each other longer than they work. On a machine that has
other things to do they wait a hundred times longer.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import torch
from threadpoolctl import ThreadpoolController

SMALL = 2_048  # points: more are worth several threads

_limits_blas = threading.Lock()
Result = TypeVar("Result")


@contextmanager
def one_thread_if_small(n_points: int) -> Iterator[None]:
    """Compute with one thread meanwhile, if there are few points."""
    if n_points > SMALL:
        yield
        return
    with _one_thread_of_torch, _one_thread_of_blas():
        yield


def side_by_side(
    n_points: int, function: Callable[..., Result], *arguments: Iterable[Any]
) -> list[Result]:
    """The results of a function for several sets, as of `map`: small sets at once, a thread each.

    n_points: of the largest. No more at once than torch may use threads.
    """
    n_threads = torch.get_num_threads()
    if n_points > SMALL or n_threads == 1:
        return list(map(function, *arguments))
    # The limit must last until all of them have ended.
    with one_thread_if_small(n_points), ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(function, *arguments))


@contextmanager
def _one_thread_of_blas() -> Iterator[None]:
    """A limit for the whole process, and whoever sets it must lift it: others do without."""
    if not _limits_blas.acquire(blocking=False):
        yield
        return
    try:
        with _libraries().limit(limits=1, user_api="blas"):
            yield
    finally:
        _limits_blas.release()


class _OneThreadOfTorch:
    """Torch keeps a number for each thread of the program, and one for those to come.

    So whoever enters while another thread is inside finds the limit, not the number to restore.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = 1

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = torch.get_num_threads()
            self._inside += 1
            torch.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            torch.set_num_threads(self._before)


_one_thread_of_torch = _OneThreadOfTorch()


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()
