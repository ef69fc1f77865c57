"""How many threads a timing had."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits


@contextmanager
def limited_threads(number: int) -> Iterator[None]:
    """Let torch, BLAS and OpenMP use this many threads, and afterwards what they had before."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        with threadpool_limits(number):
            yield
    finally:
        torch.set_num_threads(before)
