from dataclasses import is_dataclass

import pytest

from coterie.systems.dac.minimum_loss import DAC
from coterie.systems.protocol import Direct, Sequential
from coterie.systems.registry import SYSTEMS, build, settings_of, traits_of
from coterie.systems.traits import Traits

EVERY_SYSTEM = pytest.mark.parametrize("name", sorted(SYSTEMS))
SEQUENTIAL = pytest.mark.parametrize("name", ["amcp", "chigac", "dac", "ncp"])
WITH_DENSITY = pytest.mark.parametrize("name", ["act_st", "amcp", "dac"])
# What each family can be asked for that is not its default.
CHANGED = {
    "act_st": ("columns", 3),
    "amcp": ("columns", 3),
    "chigac": ("columns", 3),
    "dac": ("columns", 3),
    "mice": ("width", 16),
    "moco": ("width", 16),
    "ncp": ("columns", 3),
}
SMALL = {name: {"backbone": "small", "queue": 64} for name in ("mice", "moco")}


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
    setting, value = CHANGED[name]
    settings = settings_of(build(name, {setting: value, **SMALL.get(name, {})}))
    assert settings[setting] == value
    assert settings_of(build(name, settings)) == settings


@SEQUENTIAL
def test_a_system_fulfils_the_sequential_contract(name):
    system = build(name, {})
    missing = [
        method
        for method in ("start", "step_limit", "step", "finished", "replay", "loss", "double")
        if not callable(getattr(system, method, None))
    ]
    assert missing == []
    assert isinstance(system, Sequential)
    assert not isinstance(system, Direct)


def test_a_system_fulfils_the_direct_contract():
    system = build("act_st", {})
    assert isinstance(system, Direct)
    assert not isinstance(system, Sequential)


@EVERY_SYSTEM
def test_a_system_names_methods_that_it_has_as_worth_compiling(name):
    regions = build(name, SMALL.get(name, {})).regions
    assert regions
    assert all(callable(getattr(owner, method)) for owner, method in regions)


@EVERY_SYSTEM
def test_traits_are_known_without_building_the_system(name):
    setting, value = CHANGED[name]
    settings = {setting: value, **SMALL.get(name, {})}
    assert traits_of(name, settings) == build(name, settings).traits


@WITH_DENSITY
def test_traits_follow_the_settings(name):
    settings = {"columns": 3, "k_max": 7, "cluster_scale": 0.5}
    assert traits_of(name, settings) == Traits((3,), "gaussian", 0.5, 7, "plain")


def test_traits_of_clusters_without_a_density():
    traits = traits_of("amcp", {"density": "none", "cluster_scale": 0.5, "k_max": 7})
    assert traits == Traits((2,), None, None, 7)
    assert traits_of("ncp", {"cluster_scale": 0.5, "k_max": 7}) == traits
    again = Traits((2,), None, None, 7, looks_again=True)
    assert traits_of("chigac", {"cluster_scale": 0.5, "k_max": 7}) == again
    assert not traits_of("chigac", {"columns": 3}).looks_again


def test_traits_of_unknown_systems_and_settings_are_refused():
    with pytest.raises(ValueError, match="unknown system 'kmeans'"):
        traits_of("kmeans", {})
    with pytest.raises(ValueError, match="unknown settings for 'dac': colour"):
        traits_of("dac", {"colour": "red"})


def test_unknown_system_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown system 'kmeans'; known: .*dac"):
        build("kmeans", {})


def test_unknown_settings_are_refused_by_name():
    with pytest.raises(ValueError, match="unknown settings for 'dac': colour, depth"):
        build("dac", {"depth": 3, "width": 16, "colour": "red"})
