"""Warped Gaussians: clusters that no Gaussian describes (DAC, eq. 16), with current peers.

The half-axes of eq. 16 have the standard deviation sqrt(2), those of the authors' published
generator 2. The tables of the first are `warped`, those of the second `warped-published`: the
log-likelihoods of the paper are of such sets.
"""

from dataclasses import replace

from torch import Generator

from bench.arcs import consult_arcs
from bench.benchmark import Benchmark
from bench.methods import SPECTRAL_TOLD_K
from bench.printed import DAC_TABLE_6
from bench.sets import LabelledSet, Oracle, Setting, unpad
from coterie.data.priors.warped import Arcs, WarpedGaussians


def warped_setting(n_max: int, k_max: int, *, k_limit: int, published: bool = False) -> Setting:
    """Sets of eq. 16 with up to n_max points and k_max clusters, and their oracle."""
    make = WarpedGaussians.as_published if published else WarpedGaussians
    prior = make(n_max, k_max)

    def draw(n_sets: int, generator: Generator) -> list[LabelledSet]:
        batch, arcs = prior.draw(n_sets, generator)
        return [
            replace(given, oracle=_oracle(given, arcs, number, prior.thickness), gaussian=False)
            for number, given in enumerate(unpad(batch))
        ]

    return Setting(prior, draw, k_limit)


def _oracle(given: LabelledSet, arcs: Arcs, number: int, thickness: float) -> Oracle:
    return consult_arcs(given.points, Arcs(*(part[number] for part in arcs)), thickness)


def _settings(*, published: bool) -> tuple[Setting, ...]:
    return (
        warped_setting(1000, 4, k_limit=8, published=published),
        warped_setting(3000, 12, k_limit=16, published=published),
    )


SETTINGS = _settings(published=False)
SHIPPED = ("amcp-warped2d",)
SHIPPED_PUBLISHED = ("dac-warped2d", "amcp-warped2d")

run_warped = Benchmark("warped", SETTINGS, SHIPPED, told=(SPECTRAL_TOLD_K,)).run
run_published = Benchmark(
    "warped-published",
    _settings(published=True),
    SHIPPED_PUBLISHED,
    (DAC_TABLE_6,),
    (SPECTRAL_TOLD_K,),
).run
