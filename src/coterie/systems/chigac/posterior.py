"""Diagonal Gaussians over z, the representation of a cluster, as prior and encoder make them.

Shapes: any leading axes, Z the length of z.
"""

import math
from typing import NamedTuple

from torch import Tensor, nn
from torch.nn.functional import normalize

SHARPEST = 6.0  # b of eq. 14 stays within plus and minus this: sigma within e^-3 and e^3 sigma_0


class Gaussian(NamedTuple):
    """mean and log_scale, (..., Z) each: the variational parameters psi of a cluster."""

    mean: Tensor
    log_scale: Tensor

    def at(self, noise: Tensor) -> Tensor:
        """The reparameterised z = mean + sigma noise: noise (..., Z) -> (..., Z)."""
        return self.mean + self.log_scale.exp() * noise

    def log_prob(self, z: Tensor) -> Tensor:
        """(..., Z) -> (...)."""
        distance = (z - self.mean) * (-self.log_scale).exp()
        each = -0.5 * distance.square() - self.log_scale - 0.5 * math.log(2 * math.pi)
        return each.sum(-1)

    def divergence(self, other: "Gaussian") -> Tensor:
        """KL(self || other): (...)."""
        narrower = self.log_scale - other.log_scale
        moved = (self.mean - other.mean) * (-other.log_scale).exp()
        return 0.5 * ((2 * narrower).exp() + moved.square() - 1 - 2 * narrower).sum(-1)

    def detached(self) -> "Gaussian":
        """The same without a history."""
        return Gaussian(self.mean.detach(), self.log_scale.detach())

    def over(self, axis: int) -> "Gaussian":
        """The same with a further axis, along which it broadcasts."""
        return Gaussian(self.mean.unsqueeze(axis), self.log_scale.unsqueeze(axis))


class GaussianHead(nn.Module):
    """Eq. 14: a unit vector a / |a| for the mean, sigma_0 exp(-b / 2) for the deviation."""

    def __init__(self, width: int, latent: int, sigma: float) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 2 * latent)
        self.log_sigma = math.log(sigma)

    def forward(self, hidden: Tensor) -> Gaussian:
        """(..., C) -> a Gaussian over (..., Z)."""
        a, b = self.linear(hidden).chunk(2, -1)
        log_scale = self.log_sigma - 0.5 * b.clamp(-SHARPEST, SHARPEST)
        return Gaussian(normalize(a, dim=-1), log_scale)
