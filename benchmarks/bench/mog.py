"""Mixtures of Gaussians: DAC's section 5.1, with current peers."""

from torch import Generator

from bench.benchmark import Benchmark
from bench.printed import DAC_TABLE_1
from bench.sets import LabelledSet, Setting, unpad
from coterie.data.priors.mog import MixtureOfGaussians


def mog_setting(n_max: int, k_max: int, *, k_limit: int) -> Setting:
    """Sets of eq. 13 with up to n_max points and k_max clusters, and their oracle."""
    prior = MixtureOfGaussians(n_max, k_max)

    def draw(n_sets: int, generator: Generator) -> list[LabelledSet]:
        return unpad(*prior.draw(n_sets, generator))

    return Setting(prior, draw, k_limit)


SETTINGS = (mog_setting(1000, 4, k_limit=8), mog_setting(3000, 12, k_limit=16))


SHIPPED = ("dac-mog2d", "act_st-mog2d", "amcp-mog2d", "amcp-mog2d-wide")

run_mog = Benchmark("mog", SETTINGS, SHIPPED, (DAC_TABLE_1,)).run
