"""Semi-amortized inference (Semi-AI; Kim, Wiseman, Miller, Sontag, Rush 2018)."""

from coterie.systems.chigac.bound import Bound
from coterie.systems.chigac.inference.protocol import Inner, Objectives, ascended, slope
from coterie.systems.chigac.posterior import Gaussian


def semi_amortized(bound: Bound, first: Gaussian, inner: Inner) -> Objectives:
    """Model and encoder climb the bound at psi_M, through all inner steps.

    Second derivatives are exact here; the paper uses finite differences.
    """
    learning = first.mean.requires_grad
    posterior = first
    for _ in range(inner.steps):
        found = slope(bound, posterior, inner.noise(first.mean), through=learning)
        posterior = ascended(posterior, found.gradient, inner.rate)
    return Objectives(bound.elbo(posterior, inner.noise(first.mean)))
