"""Amortized inference (AI; Kingma, Welling 2013): psi is what the encoder says, eq. 8."""

from coterie.systems.chigac.bound import Bound
from coterie.systems.chigac.inference.protocol import Inner, Objectives
from coterie.systems.chigac.posterior import Gaussian


def amortized(bound: Bound, first: Gaussian, inner: Inner) -> Objectives:
    """Model and encoder climb the bound at psi_0."""
    return Objectives(bound.elbo(first, inner.noise(first.mean)))
