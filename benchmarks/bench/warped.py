"""Warped Gaussians: clusters that no Gaussian describes (DAC, eq. 16), with current peers."""

from torch import Generator

from bench.benchmark import Benchmark
from bench.sets import LabelledSet, Setting, unpad
from coterie.data.priors.warped import WarpedGaussians


def warped_setting(n_max: int, k_max: int, *, k_limit: int) -> Setting:
    """Sets of eq. 16 with up to n_max points and k_max clusters; they have no oracle."""
    prior = WarpedGaussians(n_max, k_max)

    def draw(n_sets: int, generator: Generator) -> list[LabelledSet]:
        return unpad(prior.sample(n_sets, generator))

    return Setting(prior, draw, k_limit)


SETTINGS = (warped_setting(1000, 4, k_limit=8), warped_setting(3000, 12, k_limit=16))
SHIPPED = ("amcp-warped2d",)

run_warped = Benchmark("warped", SETTINGS, SHIPPED).run
