"""The density heads of DAC, by the name of the density.

Flows are imported where they are needed, so that other networks do not wait for zuko.
"""

from coterie.densities.heads import DensityHead, GaussianHead
from coterie.systems.dac.config import DACConfig


def make_head(config: DACConfig) -> DensityHead | None:
    """The head of the density that the configuration names; None without a density."""
    if config.density is None:
        return None
    if config.density == "gaussian":
        return GaussianHead(config.width, config.columns)
    if config.density == "maf":
        from coterie.densities.flow import FlowHead

        return FlowHead(
            config.width, config.columns, config.context, config.flow_blocks, config.flow_width
        )
    from coterie.densities.statistician import Sizes, Statistician

    sizes = Sizes(
        config.width, config.context, config.latent, config.flow_blocks, config.flow_width
    )
    return Statistician(config.width, config.columns, sizes)


def columns_read(config: DACConfig) -> int:
    """How many columns the blocks read of a point; a statistician encodes it first."""
    return config.width if config.density == "neural_statistician" else config.columns
