"""What the inference strategies share: one interface, and gradients of the variational parameters.

A strategy is given the bound as a function of the variational parameters psi and the encoder's
psi_0. It says what the generative model climbs and what the encoder climbs. Nothing else differs.

Shapes: B sets, A steps; psi over (B, A, Z).
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Generator, Tensor

from coterie.systems.chigac.bound import Bound
from coterie.systems.chigac.posterior import Gaussian

FARTHEST = 1.0  # deviations that a coordinate of the mean moves in one step at most
STEEPEST = 0.5  # and its log-deviation


class Refine(Protocol):
    """A network that improves psi, given the gradient of the bound; of `iterative` alone."""

    def __call__(self, posterior: Gaussian, gradient: Gaussian) -> Gaussian:
        """psi_{m+1} from psi_m."""


@dataclass(frozen=True)
class Inner:
    """The inner optimisation: steps (M), their rate, and the random numbers."""

    steps: int
    rate: float
    generator: Generator | None = None
    refine: Refine | None = None

    def noise(self, like: Tensor) -> Tensor:
        """Standard normal numbers of the same shape."""
        return torch.randn(
            like.shape, generator=self.generator, device=like.device, dtype=like.dtype
        )


class Objectives(NamedTuple):
    """What is climbed, (B, A) each.

    generative: the bound, whose gradient trains the generative model; recognition: its gradient
    trains the encoder, its value means nothing; None where `generative` trains both.
    """

    generative: Tensor
    recognition: Tensor | None = None


class Strategy(Protocol):
    """How the variational parameters are optimised."""

    def __call__(self, bound: Bound, first: Gaussian, inner: Inner) -> Objectives:
        """The objectives, from the encoder's psi_0."""


class Slope(NamedTuple):
    """The bound at psi (B, A), and its gradient there, a Gaussian's parts."""

    value: Tensor
    gradient: Gaussian


def slope(bound: Bound, posterior: Gaussian, noise: Tensor, *, through: bool = False) -> Slope:
    """The gradient of the bound, with one draw of z; through: itself differentiable."""
    posterior = Gaussian(
        *(
            part if through and part.requires_grad else part.detach().requires_grad_()
            for part in posterior
        )
    )
    with torch.enable_grad():
        value = bound.elbo(posterior, noise)
        gradient = torch.autograd.grad(value.sum(), posterior, create_graph=through)
    return Slope(value, Gaussian(*gradient))


def ascended(posterior: Gaussian, gradient: Gaussian, rate: float) -> Gaussian:
    """One step of gradient ascent (Algorithm 1, line 8), in units of the deviations.

    This is the natural gradient. A plain step that suits a deviation of 0.1 is unstable where it
    has become 0.01.
    """
    scale = posterior.log_scale.exp()
    far = (rate * scale * gradient.mean).clamp(-FARTHEST, FARTHEST)
    wide = (0.5 * rate * gradient.log_scale).clamp(-STEEPEST, STEEPEST)
    return Gaussian(posterior.mean + scale * far, posterior.log_scale + wide)


def towards(posterior: Gaussian, gradient: Gaussian) -> Tensor:
    """A stand-in for the bound whose gradient is that of psi alone, as the chain rule has it."""
    along = zip(posterior, gradient, strict=True)
    return torch.stack([(part * slope.detach()).sum(-1) for part, slope in along]).sum(0)


class Trajectory(NamedTuple):
    """psi_0 ... psi_M without a history, the noise at each, and the gradient at psi_0."""

    posteriors: tuple[Gaussian, ...]
    noises: tuple[Tensor, ...]
    first: Gaussian


def climb(bound: Bound, first: Gaussian, inner: Inner) -> Trajectory:
    """Stochastic gradient ascent from psi_0 (Algorithm 1, lines 4 to 10).

    The draw at psi_m takes part in the step to psi_{m+1}, but not in psi_m itself: given psi_m it
    is a fresh one, so weights of these draws are unbiased.
    """
    posterior = first.detached()
    posteriors, noises, gradients = [posterior], [inner.noise(first.mean)], []
    for _ in range(inner.steps):
        gradients.append(slope(bound, posterior, noises[-1]).gradient)
        posterior = ascended(posterior, gradients[-1], inner.rate)
        posteriors.append(posterior)
        noises.append(inner.noise(first.mean))
    if not gradients:
        gradients.append(slope(bound, posterior, noises[-1]).gradient)
    return Trajectory(tuple(posteriors), tuple(noises), gradients[0])
