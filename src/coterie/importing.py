"""Imports without the collector of garbage, of which they make none.

Torch and scikit-learn make half a million objects, which the collector looks through again and
again: a fifth of the time of their import.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quick_imports() -> Iterator[None]:
    """No collection meanwhile; what is there at the end counts as old, and is rarely looked at."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # else what others have frozen would be looked at again
            gc.freeze()
            gc.unfreeze()
        if was_enabled:
            gc.enable()


@contextmanager
def imports_to_stay() -> Iterator[None]:
    """The same in a program of ours: what is there at the end is never looked at again."""
    with quick_imports():
        yield
    gc.freeze()
