"""Imports without the collector of garbage, of which they make none.

Torch and scikit-learn make half a million objects, which the collector looks through again and
again: a fifth of the time of their import.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quick_imports() -> Iterator[None]:
    """No collection meanwhile; what is there at the end is never looked through again."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
