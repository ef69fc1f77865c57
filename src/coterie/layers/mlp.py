"""The multilayer perceptron."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from torch import nn

Activation = Literal["gelu", "relu"]
ACTIVATIONS: dict[Activation, type[nn.Module]] = {"gelu": nn.GELU, "relu": nn.ReLU}


def mlp(widths: Sequence[int], activation: Activation = "gelu") -> nn.Sequential:
    """Linear layers of the given widths with an activation between them."""
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), ACTIVATIONS[activation]()]
    return nn.Sequential(*layers[:-1])
