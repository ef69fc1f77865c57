"""The systems by name, built from their configurations."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from torch import nn

from coterie.systems.amcp.config import AMCPConfig
from coterie.systems.amcp.steps import AMCP
from coterie.systems.dac.config import DACConfig
from coterie.systems.dac.minimum_loss import DAC

SYSTEMS: dict[str, tuple[type[nn.Module], type]] = {
    "amcp": (AMCP, AMCPConfig),
    "dac": (DAC, DACConfig),
}


def build(name: str, settings: Mapping[str, Any]) -> nn.Module:
    """A fresh system from its name and settings; unknown names and settings are refused."""
    if name not in SYSTEMS:
        raise ValueError(f"unknown system {name!r}; known: {', '.join(sorted(SYSTEMS))}")
    system, config = SYSTEMS[name]
    unknown = sorted(set(settings) - {field.name for field in fields(config)})
    if unknown:
        raise ValueError(f"unknown settings for {name!r}: {', '.join(unknown)}")
    return system(config(**settings))


def settings_of(system: Any) -> dict[str, Any]:
    """The settings that build this system again."""
    return asdict(system.config)
