"""Training states on disk: weights, buffers, optimizer states and the step, without pickle."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from coterie.weights.format import FORMAT_VERSION, WeightsError, load_tensors, save_tensors

SYSTEM, OPTIMIZER = "system.", "optimizer."
COUNTER, SQUARES = "step", "_sq"  # the moments that are a number, and those that are never negative
OF_ADAM = {COUNTER, "exp_avg", "exp_avg_sq"}  # which has all of them or none


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
    weights = {f"{SYSTEM}{name}": value for name, value in system.state_dict().items()}
    names: dict[Tensor, str] = {value: name for name, value in system.named_parameters()}
    moments = {
        f"{OPTIMIZER}{names[parameter]}.{key}": torch.as_tensor(value)
        for optimizer in optimizers
        for parameter, state in optimizer.state.items()
        for key, value in state.items()
        if value is not None  # as SGD keeps it before it has a momentum
    }
    header = {
        "version": FORMAT_VERSION,
        "step": step,
        "moments": len(moments),
        "recipe": recipe,
    }
    save_tensors(path, {**weights, **moments}, header)


def load_checkpoint(
    path: Path, system: nn.Module, optimizers: Sequence[Optimizer], *, recipe: dict[str, Any]
) -> int:
    """Restore a saved state of the recipe; returns the number of steps taken."""
    tensors, header = load_tensors(path)
    if "step" not in header:
        raise WeightsError(f"{path} holds no training state")
    if header.get("recipe") != json.loads(json.dumps(recipe)):  # JSON turns tuples into lists
        raise WeightsError(f"{path} was written by another recipe; train into another folder")
    parameters: dict[str, Tensor] = dict(system.named_parameters())
    try:
        step = _checked_step(header["step"], recipe)
        moments = _moments(tensors, parameters)
        _check_count(header.get("moments"), moments, step)
        system.load_state_dict(_under(SYSTEM, tensors))
    except (ValueError, RuntimeError) as error:
        raise WeightsError(f"{path} holds no whole training state: {error}") from error
    names: dict[Tensor, str] = {value: name for name, value in parameters.items()}
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            # Where such an optimizer counts its steps.
            on_device = group.get("fused") or group.get("capturable")
            for parameter in group["params"]:
                for key, value in moments.get(names[parameter], {}).items():
                    counter = key == "step" and not on_device
                    home = value if counter else _placed(value, parameter)
                    optimizer.state[parameter][key] = home
    return step


def _checked_step(step: Any, recipe: Mapping[str, Any]) -> int:
    last = recipe.get("training", {}).get("steps", math.inf)
    if type(step) is not int or not 0 <= step <= last:
        raise ValueError(f"step must be an integer from 0 to {last}, got {step!r}")
    return step


def _moments(
    tensors: Mapping[str, Tensor], parameters: Mapping[str, Tensor]
) -> dict[str, dict[str, Tensor]]:
    """The moments of each parameter by their names; a ValueError says what cannot be."""
    moments: dict[str, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if not name.startswith((SYSTEM, OPTIMIZER)):
            raise ValueError(f"{name} is neither a weight nor a moment")
        if value.is_complex() or not bool(value.isfinite().all()):
            raise ValueError(f"{name} is not made of finite numbers")
        if name.startswith(OPTIMIZER):
            parameter, _, key = name.removeprefix(OPTIMIZER).rpartition(".")
            if parameter not in parameters:
                raise ValueError(f"{name} is a moment of no parameter")
            if key == COUNTER and value.dim():
                raise ValueError(f"{name} has shape {tuple(value.shape)}, not that of a number")
            if key != COUNTER and value.shape != parameters[parameter].shape:
                raise ValueError(
                    f"{name} has shape {tuple(value.shape)}, its parameter"
                    f" {tuple(parameters[parameter].shape)}"
                )
            if (key == COUNTER or key.endswith(SQUARES)) and bool((value < 0).any()):
                raise ValueError(f"{name} is negative")
            moments.setdefault(parameter, {})[key] = value
    return moments


def _check_count(written: Any, moments: Mapping[str, Mapping[str, Tensor]], step: int) -> None:
    """Raise if moments are missing; states from before they were counted have at least one."""
    found = sum(len(each) for each in moments.values())
    if written is None and step and not found:
        raise ValueError("the moments of the optimizer are missing")
    if written is not None and written != found:
        raise ValueError(f"{written} moments of the optimizer were written, {found} are there")
    for parameter, known in moments.items():
        if not OF_ADAM.isdisjoint(known) and not known.keys() >= OF_ADAM:
            raise ValueError(f"of the moments of {parameter} only {', '.join(known)} are there")


def _placed(value: Tensor, parameter: Tensor) -> Tensor:
    """A moment on its parameter's device, and as large ones in its memory format."""
    if value.shape != parameter.shape:
        return value.to(parameter.device)
    return torch.empty_like(parameter, dtype=value.dtype, requires_grad=False).copy_(value)


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
