"""What an image system says of a whole collection, chunk by chunk."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

CHUNK = 2_000  # images


@torch.no_grad()
def read_collection(system: nn.Module, images: Tensor) -> dict[str, Tensor]:
    """The outputs of a system for all images (n, C, H, W) uint8, by name.

    Evaluated in evaluation mode, which is then reset; in bfloat16 on a GPU.
    """
    device = next(system.parameters()).device
    parts = []
    with _evaluating(system), torch.compiler.set_stance("force_eager"):
        for part in images.split(CHUNK):
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                parts.append(system.read(part.to(device).float() / 255))  # type: ignore[operator]
    return {
        name: torch.cat([getattr(part, name) for part in parts]).float()
        for name in parts[0]._fields
    }


@contextmanager
def _evaluating(system: nn.Module) -> Iterator[None]:
    before = system.training
    system.eval()
    try:
        yield
    finally:
        system.train(before)
