"""The optimizers of a run: those that the system defines, or one Adam over all its weights."""

from collections import Counter
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from coterie.training.recipe import TrainingConfig


def make_optimizers(
    system: nn.Module, config: TrainingConfig, *, capture: bool = False
) -> tuple[Optimizer, ...]:
    """The optimizers of a system that is already on its device.

    Each group stores its original rate as `initial_lr`, which the schedule scales. For a captured
    step the rates are tensors, which the graph reads in place.
    """
    own: Any = getattr(system, "optimizers", None)
    made = (_adam(system, config, capture),) if own is None else tuple(own(config))
    _require_one_owner(system, made)
    device = next(system.parameters()).device
    for group in (group for optimizer in made for group in optimizer.param_groups):
        group["initial_lr"] = float(group["lr"])
        if capture:
            group["lr"] = torch.tensor(group["initial_lr"], device=device)
    return made


def _adam(system: nn.Module, config: TrainingConfig, capture: bool) -> Optimizer:
    on_gpu = next(system.parameters()).is_cuda
    if not config.weight_decay:
        return torch.optim.Adam(
            system.parameters(),
            config.learning_rate,
            betas=config.betas,
            fused=on_gpu,
            capturable=capture,
        )
    decaying = [each for each in system.parameters() if each.ndim > 1]
    others = [each for each in system.parameters() if each.ndim <= 1]  # biases, norms, scales
    return torch.optim.AdamW(
        [
            {"params": decaying, "weight_decay": config.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ],
        config.learning_rate,
        betas=config.betas,
        fused=on_gpu,
        capturable=capture,
    )


def _require_one_owner(system: nn.Module, optimizers: tuple[Optimizer, ...]) -> None:
    """Check that every trainable weight belongs to exactly one optimizer, which holds its state."""
    owners = Counter(
        parameter
        for optimizer in optimizers
        for group in optimizer.param_groups
        for parameter in group["params"]
    )
    for name, parameter in system.named_parameters():
        if owners[parameter] > 1:
            raise ValueError(f"{name} belongs to {owners[parameter]} optimizers instead of one")
        if parameter.requires_grad and not owners[parameter]:
            raise ValueError(f"{name} belongs to no optimizer; freeze it or add it to one")
