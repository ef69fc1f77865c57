"""Training states on disk: weights, buffers, optimizer states and the step, without pickle."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from coterie.weights.format import FORMAT_VERSION, WeightsError, load_tensors, save_tensors


def save_checkpoint(
    path: Path,
    system: nn.Module,
    optimizers: Sequence[Optimizer],
    *,
    step: int,
    recipe: dict[str, Any],
) -> None:
    """Write the state after a number of steps of a recipe, atomically.

    A parameter belongs to one optimizer, so its name identifies its moments.
    """
    tensors = {f"system.{name}": value for name, value in system.state_dict().items()}
    names: dict[Tensor, str] = {value: name for name, value in system.named_parameters()}
    for optimizer in optimizers:
        for parameter, moments in optimizer.state.items():
            for key, value in moments.items():
                if value is not None:  # as SGD keeps it before it has a momentum
                    tensors[f"optimizer.{names[parameter]}.{key}"] = torch.as_tensor(value)
    header = {"version": FORMAT_VERSION, "step": step, "recipe": recipe}
    save_tensors(path, tensors, header)


def load_checkpoint(
    path: Path, system: nn.Module, optimizers: Sequence[Optimizer], *, recipe: dict[str, Any]
) -> int:
    """Restore a saved state of the recipe; returns the number of steps taken."""
    tensors, header = load_tensors(path)
    if "step" not in header:
        raise WeightsError(f"{path} holds no training state")
    if header["recipe"] != json.loads(json.dumps(recipe)):  # JSON turns tuples into lists
        raise WeightsError(f"{path} was written by another recipe; train into another folder")
    system.load_state_dict(_under("system.", tensors))
    moments = _under("optimizer.", tensors)
    names: dict[Tensor, str] = {value: name for name, value in system.named_parameters()}
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            # Where such an optimizer counts its steps.
            on_device = group.get("fused") or group.get("capturable")
            for parameter in group["params"]:
                for key, value in _under(f"{names[parameter]}.", moments).items():
                    counter = key == "step" and not on_device
                    home = value if counter else _placed(value, parameter)
                    optimizer.state[parameter][key] = home
    step: int = header["step"]
    return step


def _placed(value: Tensor, parameter: Tensor) -> Tensor:
    """A moment on its parameter's device, and as large ones in its memory format."""
    if value.shape != parameter.shape:
        return value.to(parameter.device)
    return torch.empty_like(parameter, dtype=value.dtype, requires_grad=False).copy_(value)


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
