"""Settings of any origin: wrong types and absurd numbers are refused by name, before building."""

import math

import pytest

from coterie.systems.registry import SYSTEMS, traits_of

WRONG = [
    ("amcp", {"em_steps": 10**9}, "em_steps must be 64 or less, got 1000000000"),
    ("amcp", {"em_steps": -1}, "em_steps must be 0 or more, got -1"),
    ("amcp", {"encoder_blocks": 10**6}, "encoder_blocks must be 64 or less"),
    ("amcp", {"refinements": 10**9}, "refinements must be 64 or less"),
    ("amcp", {"proposals": 10**9, "proposal": "anchor"}, "proposals must be"),
    ("amcp", {"landmarks": 10**9, "proposal": "anchor"}, "landmarks must be"),
    ("amcp", {"width": 0}, "width must be 1 or more, got 0"),
    ("amcp", {"heads": 0}, "heads must be 1 or more, got 0"),
    ("amcp", {"width": 128.0}, "width must be an integer, got 128.0"),
    ("amcp", {"width": True}, "width must be an integer, got True"),
    ("amcp", {"coupling": 1}, "coupling must be true or false, got 1"),
    ("amcp", {"cluster_scale": math.nan}, "cluster_scale must be a finite number, got nan"),
    ("amcp", {"cluster_scale": 0.0}, "cluster_scale must lie between"),
    ("amcp", {"cluster_scale": 10**400}, "cluster_scale must be a finite number"),
    ("amcp", {"min_share": math.inf}, "min_share must be a finite number, got inf"),
    ("amcp", {"e_step": ["column"]}, "e_step must be one of .*column"),
    ("dac", {"heads": 3}, "3 heads must divide width"),
    ("dac", {"decoder_blocks": 10**9}, "decoder_blocks must be 64 or less"),
    ("dac", {"slots": "many"}, "slots must be an integer, got 'many'"),
    ("dac", {"k_max": [1] * 99}, r"k_max must be an integer, got \[1, 1, .*\.\.\."),
    ("dac", {"density": "none"}, "density must be one of gaussian, .* or null, got 'none'"),
    ("mice", {"temperature": 0}, "temperature must be"),
    ("mice", {"gate": "output"}, "gate must be input or uniform, got 'output'"),
    ("mice", {"n_clusters": 10**9}, "n_clusters must be 1,000 or less"),
    ("moco", {"std": [0.1, 0.0, 0.1]}, "std must lie between"),
    ("moco", {"mean": ["red", 0, 0]}, "mean must be a list of finite numbers"),
    ("moco", {"mean": [], "std": []}, "one channel or more"),
]


@pytest.mark.parametrize(("name", "settings", "reason"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_setting_is_refused_by_its_name(name, settings, reason):
    with pytest.raises(ValueError, match=reason):
        traits_of(name, settings)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_defaults_are_within_the_bounds(name):
    assert traits_of(name, {}).item_shape
