import json
from dataclasses import replace
from itertools import pairwise

import pytest
from torch import Generator

from bench.recipes import amcp, catalogue, dac, universal
from bench.recipes.amcp import BASE, RECIPES, STUDIES
from coterie.systems.registry import build
from coterie.training.presets import PRESETS
from coterie.training.trainer import train
from coterie.weights.format import load_system

BY_NAME = {recipe.name: recipe for recipe in RECIPES}
EVERY_STUDY = pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)


def settings(name):
    return BY_NAME[f"study-amcp-{name}"].settings


def changed(name, base="base"):
    """What a recipe has otherwise than another."""
    return {key: value for key, value in settings(name).items() if settings(base)[key] != value}


def test_no_recipe_has_the_name_of_another_or_of_a_preset():
    recipes = (*amcp.RECIPES, *dac.RECIPES, *universal.RECIPES)
    assert len({recipe.name for recipe in recipes}) == len(recipes) == len(catalogue.RECIPES)
    assert not set(catalogue.RECIPES) & set(PRESETS)


def test_an_unknown_study_is_refused_with_the_known_ones():
    assert catalogue.study_recipe("study-dac").system == "dac"
    with pytest.raises(ValueError, match=r"unknown study 'gpt'; known: .*study-amcp-base"):
        catalogue.study_recipe("gpt")


@pytest.mark.parametrize("name", sorted(catalogue.RECIPES))
def test_a_recipe_fits_its_prior_and_can_be_written_down(name):
    recipe = catalogue.study_recipe(name)
    settings = build(recipe.system, recipe.settings).config
    assert settings.columns == recipe.prior.sample(2, Generator().manual_seed(0)).points.shape[2]
    assert settings.k_max == recipe.prior.k_max
    assert json.loads(json.dumps(recipe.describe()))["name"] == name


def test_every_recipe_answers_a_question_and_every_question_has_recipes():
    asked = {name for study in STUDIES for name in study.recipes}
    assert asked == set(BY_NAME)
    assert len({study.name for study in STUDIES}) == len(STUDIES)


@EVERY_STUDY
def test_a_question_is_one_sentence_and_there_is_something_to_compare(study):
    assert study.question.count("?") == 1
    assert study.question.endswith("?")
    assert len(study.recipes) * len(study.endings) > 1
    assert len({*study.recipes}) == len(study.recipes)


def test_all_are_trained_alike_on_the_same_sets():
    assert {recipe.training for recipe in RECIPES} == {BASE.training}
    assert {recipe.prior for recipe in RECIPES} == {BASE.prior}


@pytest.mark.parametrize(
    ("name", "base", "expected"),
    [
        ("t0", "base", {"em_steps": 0}),
        ("t5", "base", {"em_steps": 5}),
        ("regular", "t3", {"e_step": "regular"}),
        ("ot", "t3", {"e_step": "ot"}),
        ("r8", "base", {"references": 8}),
        ("uncoupled", "base", {"coupling": False}),
        ("seed", "base", {"proposal": "seed", "questions": 4}),
        (
            "reencode",
            "seed",
            {"encode_every": 1, "questions": 1, "coupling": False, "decoder_blocks": 1},
        ),
    ],
)
def test_recipes_differ_in_what_their_study_asks(name, base, expected):
    assert changed(name, base) == expected


def test_em_steps_and_references_grow_along_their_tables():
    tables = {study.name: [BY_NAME[name].settings for name in study.recipes] for study in STUDIES}
    for study, setting in (("EM steps", "em_steps"), ("references", "references")):
        values = [each[setting] for each in tables[study]]
        assert all(before < after for before, after in pairwise(values))


def test_the_networks_whose_curves_are_compared_are_of_one_size():
    sizes = [
        sum(p.numel() for p in build(BY_NAME[name].system, BY_NAME[name].settings).parameters())
        for name in next(study.recipes for study in STUDIES if study.name == "curves")
    ]
    assert max(sizes) < 1.05 * min(sizes)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_recipe_trains(recipe, tmp_path):
    short = replace(recipe, training=replace(recipe.training, steps=1, sets_per_step=2))
    train(short, tmp_path, accelerator="cpu")
    _, card = load_system(tmp_path / "weights.safetensors")
    assert card.provenance["recipe"]["settings"] == json.loads(json.dumps(recipe.settings))
