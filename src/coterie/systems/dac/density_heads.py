"""The density heads of DAC, by the name of the density."""

from coterie.densities.heads import DensityHead, GaussianHead
from coterie.systems.dac.config import DACConfig


def make_head(config: DACConfig) -> DensityHead | None:
    """The head of the density that the configuration names; None without a density."""
    if config.density is None:
        return None
    if config.density == "gaussian":
        return GaussianHead(config.width, config.columns)
    if config.density == "maf":
        # Here, so that zuko is loaded only where there is a flow.
        from coterie.densities.flow import FlowHead

        return FlowHead(
            config.width, config.columns, config.context, config.flow_blocks, config.flow_width
        )
    raise NotImplementedError(f"density {config.density!r}")
