"""The density heads of DAC, by the name of the density."""

from coterie.densities.heads import DensityHead, GaussianHead
from coterie.systems.dac.config import DACConfig


def make_head(config: DACConfig) -> DensityHead | None:
    """The head of the density that the configuration names; None without a density."""
    if config.density is None:
        return None
    if config.density == "gaussian":
        return GaussianHead(config.width, config.columns)
    raise NotImplementedError(f"density {config.density!r}")
