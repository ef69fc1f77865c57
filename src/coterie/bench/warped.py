"""Warped Gaussians: clusters that no Gaussian describes (DAC, eq. 16), with the peers of today."""

from collections.abc import Sequence
from pathlib import Path

from torch import Generator

from coterie.bench.benchmark import command_line, run_benchmark
from coterie.bench.methods import ours
from coterie.bench.race import Progress
from coterie.bench.report import Report
from coterie.bench.sets import LabelledSet, Setting, unpad
from coterie.data.priors.warped import WarpedGaussians


def warped_setting(n_max: int, k_max: int, *, k_limit: int) -> Setting:
    """Sets of eq. 16 with up to n_max points and k_max clusters; nobody knows their oracle."""
    prior = WarpedGaussians(n_max, k_max)

    def draw(n_sets: int, generator: Generator) -> list[LabelledSet]:
        return unpad(prior.sample(n_sets, generator))

    return Setting(prior, draw, k_limit)


SETTINGS = (warped_setting(1000, 4, k_limit=8), warped_setting(3000, 12, k_limit=16))
SHIPPED = ("amcp-warped2d",)


def run_warped(
    n_sets: int = 1000,
    n_peer_sets: int = 100,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    weights: Sequence[str | Path] = SHIPPED,
    settings: Sequence[Setting] = SETTINGS,
) -> Report:
    """Our systems on n_sets sets of each setting, and the peers on the first n_peer_sets."""
    return run_benchmark(
        "warped",
        settings,
        ours(weights),
        command=command_line("warped", n_sets, n_peer_sets, seed, weights),
        n_sets=n_sets,
        n_peer_sets=n_peer_sets,
        seed=seed,
        progress=progress,
    )
