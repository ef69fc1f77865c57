"""EMNIST in sets of a few characters: DAC's appendix E, for seen and for unseen characters.

Seen characters are those of training, in images that training has not seen. Images are binary, so
their log-likelihood, here a lower bound, can be compared pixel by pixel.
"""

from dataclasses import replace

from torch import Generator

from bench.benchmark import Benchmark
from bench.printed import DAC_TABLE_7
from bench.sets import LabelledSet, Setting, unpad
from coterie.data.image_episodes import ImageEpisodes

POOLS = {"seen": "emnist-seen-test", "unseen": "emnist-unseen"}


def emnist_setting(n_max: int, k_max: int, kind: str) -> Setting:
    """Sets of up to n_max binary images of up to k_max characters, seen or unseen."""
    prior = ImageEpisodes(POOLS[kind], n_max, k_max, concentration=5, binary=True, flat=True)

    def draw(n_sets: int, generator: Generator) -> list[LabelledSet]:
        return [replace(each, of_pixels=True) for each in unpad(prior.sample(n_sets, generator))]

    return Setting(prior, draw, k_max, f"{kind} characters")


SETTINGS = tuple(
    emnist_setting(n_max, k_max, kind) for kind in POOLS for n_max, k_max in ((1000, 4), (3000, 12))
)
SHIPPED = ("dac-emnist",)

run_emnist = Benchmark("emnist", SETTINGS, SHIPPED, (DAC_TABLE_7,)).run
