"""Networks without numbers: built at once whatever their size, to compare shapes, then filled.

On the meta device torch needs no memory, but filling a tensor there imports its compiler, which
takes a second. Nobody looks at the values, so nothing is filled. Buffers that are not stored have
to be made on a device of their own, because no file brings their values.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
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


def fill(network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Give a hollow network its tensors, each a copy of one of these as the network has it.

    That is in its precision and order of dimensions, and aligned as torch aligns its own tensors:
    the last bits of products depend on both.
    """
    own = network.state_dict()
    copies = {
        name: _like(own[name], tensor) if name in own else tensor
        for name, tensor in tensors.items()
    }
    network.load_state_dict(copies, assign=True)


def _like(own: Tensor, tensor: Tensor) -> Tensor:
    """A copy of a tensor with the type and the strides of a hollow one, if it has its shape."""
    if own.shape != tensor.shape:  # which is refused in words
        return tensor
    return torch.empty_strided(own.shape, own.stride(), dtype=own.dtype).copy_(tensor)
