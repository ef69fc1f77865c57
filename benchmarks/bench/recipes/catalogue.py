"""All recipes of studies by name."""

from bench.recipes import amcp, dac, universal
from coterie.training.recipe import Recipe

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe for recipe in (*amcp.RECIPES, *dac.RECIPES, *universal.RECIPES)
}


def study_recipe(name: str) -> Recipe:
    """A recipe by name."""
    if name not in RECIPES:
        raise ValueError(f"unknown study {name!r}; known: {', '.join(sorted(RECIPES))}")
    return RECIPES[name]
