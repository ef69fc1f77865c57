"""Faster imports of torch and scikit-learn.

They create half a million objects and no garbage, yet the garbage collector scans the objects again
and again, which takes a fifth of the time of the import. And scikit-learn imports scipy.stats and
pandas, which take longer than the rest of it, for functions that our commands never call.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from threading import RLock
from types import ModuleType
from typing import Any

SELDOM_USED = ("scipy.stats", "pandas")

_loading = RLock()


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


@contextmanager
def imports_of_a_command() -> Iterator[None]:
    """The same, without the modules that are seldom used."""
    defer_seldom_used()
    with imports_to_stay():
        yield


def defer_seldom_used() -> None:
    """Let modules that scikit-learn imports, and our programs never use, wait until they are."""
    for name in SELDOM_USED:
        defer(name)


def defer(name: str) -> None:
    """Let a later import of this module wait until something in it is used.

    As `importlib.util.LazyLoader`, which up to Python 3.11 loads the module on its second import.
    """
    if name in sys.modules:
        return
    spec = find_spec(name)
    if spec is not None and spec.loader is not None:
        sys.modules[name] = _Deferred(spec, spec.loader)


class _Deferred(ModuleType):
    """A module that is loaded when an attribute is first looked up."""

    def __init__(self, spec: ModuleSpec, loader: Loader) -> None:
        super().__init__(spec.name)
        self.__spec__, self.__loader__, self.__package__ = spec, loader, spec.name
        self.__file__, self.__path__ = spec.origin, spec.submodule_search_locations or []
        self._loader, self._has_begun = loader, False

    def __getattr__(self, name: str) -> Any:  # of what is not there yet
        with _loading:  # a second thread waits; the module itself, while it loads, does not
            if not self._has_begun:
                self._has_begun = True
                self._loader.exec_module(self)
        return ModuleType.__getattribute__(self, name)
