"""The number of threads of a timing."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits


@contextmanager
def limited_threads(number: int) -> Iterator[None]:
    """Limit torch, BLAS and OpenMP to this many threads, and restore the limits afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        with threadpool_limits(number):
            yield
    finally:
        torch.set_num_threads(before)
