"""SVI started from amortized inference (SVI-AI; Krishnan, Liang, Hoffman 2018)."""

from coterie.systems.chigac.bound import Bound
from coterie.systems.chigac.inference.protocol import Inner, Objectives, climb, towards
from coterie.systems.chigac.posterior import Gaussian


def svi(bound: Bound, first: Gaussian, inner: Inner) -> Objectives:
    """The model climbs the bound at psi_M, where the inner ascent ends; the encoder at psi_0."""
    path = climb(bound, first, inner)
    best = bound.elbo(path.posteriors[-1], path.noises[-1])
    return Objectives(best, towards(first, path.first))
