"""The systems by name, built from their configurations."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, NamedTuple

from torch import nn

from coterie.frames.protocol import FrameKind
from coterie.systems.act_st.config import ACTSTConfig
from coterie.systems.act_st.joint_loss import ACTST
from coterie.systems.amcp.config import AMCPConfig
from coterie.systems.amcp.steps import AMCP
from coterie.systems.chigac.config import CHiGacConfig
from coterie.systems.chigac.steps import CHiGac
from coterie.systems.dac.config import DACConfig
from coterie.systems.dac.minimum_loss import DAC
from coterie.systems.mice.config import MiCEConfig, MoCoConfig
from coterie.systems.mice.mice import MiCE
from coterie.systems.mice.moco import MoCo
from coterie.systems.ncp.config import NCPConfig
from coterie.systems.ncp.steps import NCP
from coterie.systems.traits import Traits


class Entry(NamedTuple):
    """A system and the frozen dataclass that configures it."""

    system: type[nn.Module]
    config: type


SYSTEMS = {
    "act_st": Entry(ACTST, ACTSTConfig),
    "amcp": Entry(AMCP, AMCPConfig),
    "chigac": Entry(CHiGac, CHiGacConfig),
    "dac": Entry(DAC, DACConfig),
    "mice": Entry(MiCE, MiCEConfig),
    "moco": Entry(MoCo, MoCoConfig),
    "ncp": Entry(NCP, NCPConfig),
}


def build(name: str, settings: Mapping[str, Any], frame: FrameKind = "plain") -> nn.Module:
    """A fresh system from its name and settings; unknown names and settings are refused.

    frame: how tables become its input, where it reads tables.
    """
    system = _entry(name).system(_configure(name, settings))
    if frame != "plain":
        system.frame = frame  # type: ignore[assignment]
    return system


def traits_of(name: str, settings: Mapping[str, Any]) -> Traits:
    """The traits of the system that the settings would build."""
    traits: Traits = _configure(name, settings).traits
    return traits


def settings_of(system: Any) -> dict[str, Any]:
    """The settings that build this system again."""
    return asdict(system.config)


def _configure(name: str, settings: Mapping[str, Any]) -> Any:
    config = _entry(name).config
    unknown = sorted(set(settings) - {field.name for field in fields(config)})
    if unknown:
        raise ValueError(f"unknown settings for {name!r}: {', '.join(unknown)}")
    return config(**settings)


def _entry(name: str) -> Entry:
    if name not in SYSTEMS:
        raise ValueError(f"unknown system {name!r}; known: {', '.join(sorted(SYSTEMS))}")
    return SYSTEMS[name]
