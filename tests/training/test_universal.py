import json
from dataclasses import replace

import pytest
import torch

from bench.recipes.universal import STUDY_NO_EPISODES
from coterie.systems.registry import build
from coterie.training.universal import AMCP_UNIVERSAL_SMALL_TABLES, AMCP_UNIVERSAL_TABLES
from coterie.weights.catalogue import find
from coterie.weights.format import load_system

RECIPES = (AMCP_UNIVERSAL_TABLES, AMCP_UNIVERSAL_SMALL_TABLES, STUDY_NO_EPISODES)
on_tables = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)


@on_tables
def test_training_on_tables_goes_on_from_the_shipped_network(recipe):
    known, _ = load_system(find(recipe.start_from))
    assert known.config == build(recipe.system, recipe.settings).config


@on_tables
def test_a_recipe_can_be_written_down(recipe):
    described = json.loads(json.dumps(recipe.describe()))
    assert described["prior"]["name"] == "Blend"
    assert described["start_from"] in recipe.name or recipe is STUDY_NO_EPISODES


@on_tables
def test_half_of_the_sets_are_those_of_before(recipe):
    assert recipe.prior.tables_share == 0.5
    assert recipe.prior.k_max == recipe.settings["k_max"]


def test_the_study_differs_by_the_episodes_alone():
    whole, study = AMCP_UNIVERSAL_SMALL_TABLES, STUDY_NO_EPISODES
    assert study.prior.tables == replace(whole.prior.tables, episodes=0.0)
    assert study.training == whole.training
    batch = study.prior.sample(2, torch.Generator().manual_seed(0))
    assert batch.points.shape == (2, 1000, 16)
