"""Training states on disk: weights, optimiser moments and the step, without a pickle."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from coterie.weights.format import FORMAT_VERSION, WeightsError, load_tensors, save_tensors


def save_checkpoint(
    path: Path, system: nn.Module, optimizer: Optimizer, *, step: int, recipe: dict[str, Any]
) -> None:
    """Write the state after a number of steps under a recipe, whole or not at all."""
    tensors = {f"system.{name}": value for name, value in system.state_dict().items()}
    names: dict[Tensor, str] = {value: name for name, value in system.named_parameters()}
    for parameter, moments in optimizer.state.items():
        for key, value in moments.items():
            tensors[f"optimizer.{names[parameter]}.{key}"] = torch.as_tensor(value)
    header = {"version": FORMAT_VERSION, "step": step, "recipe": recipe}
    save_tensors(path, tensors, header)


def load_checkpoint(
    path: Path, system: nn.Module, optimizer: Optimizer, *, recipe: dict[str, Any]
) -> int:
    """Put a saved state of the recipe back into its system and optimiser; the steps it took."""
    tensors, header = load_tensors(path)
    if "step" not in header:
        raise WeightsError(f"{path} holds no training state")
    if header["recipe"] != json.loads(json.dumps(recipe)):  # JSON makes lists of tuples
        raise WeightsError(f"{path} was written by another recipe; train into another folder")
    system.load_state_dict(_under("system.", tensors))
    moments = _under("optimizer.", tensors)
    on_device = optimizer.param_groups[0]["fused"]  # where such an optimiser counts its steps
    for name, parameter in system.named_parameters():
        for key, value in _under(f"{name}.", moments).items():
            home = parameter.device if on_device or key != "step" else "cpu"
            optimizer.state[parameter][key] = value.to(home)
    step: int = header["step"]
    return step


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
