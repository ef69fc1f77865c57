import json
import os
from dataclasses import MISSING, asdict, fields
from typing import Any

import pytest
import torch

from coterie.data.image_episodes import ImageEpisodes
from coterie.data.vector_episodes import VectorEpisodes
from coterie.systems.registry import build, settings_of
from coterie.training.presets import PRESETS, preset
from coterie.training.recipe import TrainingConfig
from coterie.weights.catalogue import models

EVERY_PRESET = pytest.mark.parametrize("name", sorted(PRESETS))


@EVERY_PRESET
def test_a_preset_is_found_by_its_name(name):
    assert preset(name).name == name


def test_unknown_preset_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown preset 'gpt'; known: .*dac-mog2d"):
        preset("gpt")


@EVERY_PRESET
def test_a_preset_trains_the_system_for_its_prior(name):
    recipe = preset(name)
    config = build(recipe.system, recipe.settings).config
    if isinstance(recipe.prior, ImageEpisodes | VectorEpisodes) and not os.environ.get(
        "COTERIE_DATA"
    ):
        pytest.skip("needs the collections of COTERIE_DATA")
    batch = recipe.prior.sample(2, torch.Generator().manual_seed(0))
    assert config.traits.item_shape == batch.points.shape[2:]
    assert config.k_max == recipe.prior.k_max


@EVERY_PRESET
def test_a_preset_can_be_written_down(name):
    described = json.loads(json.dumps(preset(name).describe()))
    assert described["name"] == name
    assert described["prior"]["name"] == type(preset(name).prior).__name__


def in_todays_words(recipe: dict[str, Any]) -> dict[str, Any]:
    """A recipe that was written down before some of its words changed."""
    recipe = {**recipe, "settings": dict(recipe["settings"])}
    if "scaling" in recipe:
        recipe["frame"] = {"none": "plain", "robust": "standard"}[recipe.pop("scaling")]
    if "unheard" in recipe["settings"]:
        recipe["settings"]["walk_dropout"] = recipe["settings"].pop("unheard")
    return recipe


@pytest.mark.parametrize(
    "model", [each for each in models() if each.reads_tables], ids=lambda model: model.name
)
def test_a_shipped_model_follows_its_preset(model):
    recipe = preset(model.name)
    assert model.card.system == recipe.system
    # A setting that came after the model stands at its default, which changes nothing.
    settings = settings_of(build(model.card.system, model.card.settings))
    assert settings == settings_of(build(recipe.system, recipe.settings))
    assert model.card.traits.frame == recipe.frame
    recorded = in_todays_words(model.card.provenance["recipe"])
    later = asdict(TrainingConfig())  # likewise
    defaults = {
        field.name: field.default for field in fields(recipe) if field.default is not MISSING
    }
    expected = json.loads(json.dumps(recipe.describe()))
    described = (
        json.loads(json.dumps({**defaults, **each, "training": {**later, **each["training"]}}))
        for each in (recorded, expected)
    )
    assert next(described) == next(described)
