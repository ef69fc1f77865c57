"""Mixtures of Gaussians: DAC's section 5.1, with the peers of today."""

from collections.abc import Sequence
from pathlib import Path

from torch import Generator

from coterie.bench.benchmark import command_line, run_benchmark
from coterie.bench.methods import ours
from coterie.bench.printed import DAC_TABLE_1, DAC_TABLE_5
from coterie.bench.race import Progress
from coterie.bench.report import Report
from coterie.bench.sets import LabelledSet, Setting, unpad
from coterie.data.priors.mog import MixtureOfGaussians


def mog_setting(n_max: int, k_max: int, *, k_limit: int) -> Setting:
    """Sets of eq. 13 with up to n_max points and k_max clusters, and their oracle."""
    prior = MixtureOfGaussians(n_max, k_max)

    def draw(n_sets: int, generator: Generator) -> list[LabelledSet]:
        return unpad(*prior.draw(n_sets, generator))

    return Setting(prior, draw, k_limit)


SETTINGS = (mog_setting(1000, 4, k_limit=8), mog_setting(3000, 12, k_limit=16))


SHIPPED = ("dac-mog2d", "amcp-mog2d", "amcp-mog2d-wide")


def run_mog(
    n_sets: int = 1000,
    n_peer_sets: int = 100,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    weights: Sequence[str | Path] = SHIPPED,
    settings: Sequence[Setting] = SETTINGS,
) -> Report:
    """DAC's Table 1 on n_sets sets of each setting, and the peers on the first n_peer_sets."""
    return run_benchmark(
        "mog",
        settings,
        ours(weights),
        command=command_line("mog", n_sets, n_peer_sets, seed, weights),
        n_sets=n_sets,
        n_peer_sets=n_peer_sets,
        seed=seed,
        progress=progress,
        printed=(DAC_TABLE_1, DAC_TABLE_5),
    )
