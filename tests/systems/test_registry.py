from dataclasses import is_dataclass

import pytest

from coterie.systems.dac.minimum_loss import DAC
from coterie.systems.registry import SYSTEMS, build, settings_of

EVERY_SYSTEM = pytest.mark.parametrize("name", sorted(SYSTEMS))


def test_builds_by_name_with_settings():
    system = build("dac", {"width": 16, "heads": 2})
    assert isinstance(system, DAC)
    assert (system.config.width, system.config.heads) == (16, 2)


@EVERY_SYSTEM
def test_a_system_knows_its_registered_name(name):
    system, config = SYSTEMS[name]
    assert system.name == name
    assert is_dataclass(config)
    assert config.__dataclass_params__.frozen


@EVERY_SYSTEM
def test_settings_build_the_same_system_again(name):
    settings = settings_of(build(name, {"columns": 3}))
    assert settings["columns"] == 3
    assert settings_of(build(name, settings)) == settings


@EVERY_SYSTEM
def test_a_system_fulfils_the_sequential_contract(name):
    system, _ = SYSTEMS[name]
    missing = [
        method
        for method in ("start", "step", "finished", "replay", "loss", "double")
        if not callable(getattr(system, method, None))
    ]
    assert missing == []


def test_unknown_system_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown system 'kmeans'; known: .*dac"):
        build("kmeans", {})


def test_unknown_settings_are_refused_by_name():
    with pytest.raises(ValueError, match="unknown settings for 'dac': colour, depth"):
        build("dac", {"depth": 3, "width": 16, "colour": "red"})
