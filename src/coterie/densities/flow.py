"""Masked autoregressive flows as densities (DAC, appendix D, eq. 14-15; Papamakarios et al. 2017).

The transforms are zuko's. The context of a cluster is the same for all its points, so it enters the
first layer of a block once for a cluster: W [x, c] = W_x x + W_c c. Concatenated to every point, as
zuko has it, it would take N x C numbers a set.
"""

from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import linear
from zuko.flows import MaskedAutoregressiveTransform
from zuko.lazy import LazyComposedTransform

from coterie.densities.heads import DensityHead
from coterie.densities.protocol import NoMarginal
from coterie.functional.em import gaussian_log_density


class Block(MaskedAutoregressiveTransform):
    """MADE for D columns given a context: each column is shifted and scaled by those before it."""

    def meta(self, c: Tensor, x: Tensor) -> Any:
        """The transform of points (..., D) given contexts (..., C), before it is applied."""
        first, *rest = cast("Any", self.hyper)
        of_points, of_context = (first.mask * first.weight).tensor_split([x.shape[-1]], 1)
        hidden = linear(x, of_points) + linear(c, of_context, first.bias)
        for layer in rest:
            hidden = layer(hidden)
        shift, scale = hidden.unflatten(-1, (-1, 2)).unbind(-1)
        return self.univariate(shift, scale)

    @torch.no_grad()
    def inverse(self, c: Tensor, y: Tensor) -> Tensor:
        """The points (B, N, D) that become y (B, N, D) given contexts (B, 1, C).

        Column after column, as each is known by those before it. A unit is computed once, as soon
        as the columns that it reads are known; zuko's inverse computes all units for every column.
        """
        order = cast("Tensor", self.order)
        layers, activation = self._layers(c), cast("Any", self.hyper)[1]
        known = [order + 1]  # after how many columns, of the columns and of the units of each layer
        for weight, _ in layers:
            known.append(((weight != 0) * known[-1]).amax(1))
        values = [y.new_zeros(*y.shape[:-1], len(each)) for each in known[:-1]]
        for step in range(self.passes):
            for at, (weight, bias) in enumerate(layers[:-1]):
                new = known[at + 1] == step
                values[at + 1][..., new] = activation(
                    linear(values[at], weight[new]) + bias[..., new]
                )
            column, (weight, bias) = order == step, layers[-1]
            moments = column.repeat_interleave(2)
            shift, scale = (
                (linear(values[-1], weight[moments]) + bias[..., moments])
                .unflatten(-1, (-1, 2))
                .unbind(-1)
            )
            values[0][..., column] = self.univariate(shift, scale).inv(y[..., column])
        return values[0]

    def _layers(self, c: Tensor) -> list[tuple[Tensor, Tensor]]:
        """The weights of each layer, and its biases, those of the first given contexts (..., C)."""
        first, *rest = (each for each in cast("Any", self.hyper) if hasattr(each, "mask"))
        of_points, of_context = (first.mask * first.weight).tensor_split([-c.shape[-1]], 1)
        of_rest = [(layer.mask * layer.weight, layer.bias) for layer in rest]
        return [(of_points, linear(c, of_context, first.bias)), *of_rest]


class Flow(nn.Module):
    """Blocks of MADE, every other one with the columns in reverse order."""

    def __init__(self, columns: int, context: int, blocks: int, width: int) -> None:
        super().__init__()
        self.columns = columns
        wanted = torch.get_default_device()
        with torch.device("cpu"):  # the masks depend on numbers, which a meta device has not
            order = torch.arange(columns)
            made = LazyComposedTransform(
                *(
                    Block(
                        columns,
                        context,
                        order=order if number % 2 == 0 else order.flip(0),
                        hidden_features=(width, width),
                        activation=nn.ELU,
                    )
                    for number in range(blocks)
                )
            )
        self.blocks = cast("Any", made.transforms.to(wanted))

    def log_prob(self, points: Tensor, context: Tensor) -> Tensor:
        """Eq. 14: (B, N, D), (B, C) -> (B, N)."""
        log_scale = points.new_zeros(points.shape[:2])
        for block in self.blocks:
            transform = block.meta(context[:, None], points)
            log_scale = log_scale + transform.log_scale.sum(-1)
            points = transform(points)  # u of eq. 15
        origin = points.new_zeros(1, self.columns)
        return gaussian_log_density(points, origin, origin)[..., 0] + log_scale

    def sample(self, n: int, context: Tensor, generator: Generator | None = None) -> Tensor:
        """n points of each cluster: (B, C) -> (B, n, D)."""
        shape = (len(context), n, self.columns)
        points = torch.randn(shape, generator=generator, device=context.device).to(context)
        for block in reversed(self.blocks):
            points = block.inverse(context[:, None], points)
        return points


@dataclass(frozen=True)
class FlowDensity:
    """A flow with the context (B, C) of one cluster in each of B sets."""

    flow: Flow
    context: Tensor

    def log_prob(self, points: Tensor) -> Tensor:
        if points.shape[-1] != self.flow.columns:
            raise NoMarginal(
                f"a flow over {self.flow.columns} columns has no marginal: points have"
                f" {points.shape[-1]}"
            )
        return self.flow.log_prob(points.to(self.context), self.context).to(points)

    def sample(self, n: int, generator: Generator | None = None) -> Tensor:
        return self.flow.sample(n, self.context, generator)

    def of_sets(self, sets: slice) -> "FlowDensity":
        return replace(self, context=self.context[sets])

    def refitted(self, points: Tensor) -> None:
        return None


class FlowHead(DensityHead):
    """A linear map to the context of a flow that all clusters share."""

    def __init__(self, width: int, columns: int, context: int, blocks: int, hidden: int) -> None:
        super().__init__()
        self.context = nn.Linear(width, context)
        self.flow = Flow(columns, context, blocks, hidden)

    def density(self, cluster: Tensor) -> FlowDensity:
        return FlowDensity(self.flow, self.context(cluster))
