"""Iterative amortized inference (IAI; Marino, Yue, Mandt 2018)."""

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from coterie.layers.mlp import mlp
from coterie.systems.chigac.bound import Bound
from coterie.systems.chigac.inference.protocol import Inner, Objectives, slope, towards
from coterie.systems.chigac.posterior import Gaussian

FIRST_GATE = -2.0  # at first an eighth of a proposal is taken


class Refinement(nn.Module):
    """psi_{m+1} = psi_m + gate(psi_m, g) change(psi_m, g), g the normalised gradient."""

    def __init__(self, latent: int, width: int) -> None:
        super().__init__()
        self.propose = mlp([4 * latent, width, 4 * latent])
        last = self.propose[-1]
        assert isinstance(last, nn.Linear)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.gate = nn.Parameter(torch.full((), FIRST_GATE))

    def forward(self, posterior: Gaussian, gradient: Gaussian) -> Gaussian:
        """Parameters and gradient over (..., Z) -> better parameters."""
        scale = posterior.log_scale.exp()
        seen = torch.cat(
            [
                posterior.mean,
                posterior.log_scale,
                _normalised(scale * gradient.mean),
                _normalised(gradient.log_scale),
            ],
            -1,
        )
        move, widen, gate_move, gate_widen = self.propose(seen).chunk(4, -1)
        along = scale * _normalised(scale * gradient.mean)
        wider = _normalised(gradient.log_scale)
        return Gaussian(
            posterior.mean + (self.gate + gate_move).sigmoid() * (along + move),
            posterior.log_scale + 0.1 * (self.gate + gate_widen).sigmoid() * (wider + widen),
        )


def _normalised(values: Tensor) -> Tensor:
    return layer_norm(values, values.shape[-1:])


def iterative(bound: Bound, first: Gaussian, inner: Inner) -> Objectives:
    """A network improves psi M times; it and the encoder climb the mean of the bounds on the way.

    The model climbs the bound at psi_M.
    """
    if inner.refine is None:
        raise ValueError('iterative inference needs weights trained with inference="iai"')
    posterior, reached = first, []
    for _ in range(inner.steps):
        gradient = slope(bound, posterior, inner.noise(first.mean)).gradient
        reached.append(towards(posterior, gradient))
        posterior = inner.refine(posterior.detached(), gradient)
    noise = inner.noise(first.mean)
    reached.append(towards(posterior, slope(bound, posterior, noise).gradient))
    final = bound.elbo(posterior.detached(), noise)
    return Objectives(final, torch.stack(reached).mean(0))
