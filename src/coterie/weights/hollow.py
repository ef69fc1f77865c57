"""Networks without numbers: built at once whatever their size, to compare shapes.

On the meta device torch needs no memory, but filling a tensor there imports its compiler, which
takes a second. Nobody looks at the values, so nothing is filled.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


class _Unfilled(TorchFunctionMode):
    """In-place operations leave tensors on the meta device as they are."""

    def __torch_function__(
        self, func: Callable, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        in_place = name.endswith("_") and not name.startswith("_")
        if in_place and args and isinstance(args[0], Tensor) and args[0].is_meta:
            return args[0]
        return func(*args, **(kwargs or {}))


@contextmanager
def hollow() -> Iterator[None]:
    """What is built here has shapes and no numbers."""
    with torch.device("meta"), _Unfilled():
        yield
