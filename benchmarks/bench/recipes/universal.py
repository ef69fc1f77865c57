"""Studies of the universal model: short trainings of the small network that lack one part."""

from dataclasses import replace
from typing import Any

from coterie.data.priors.tables import Tables
from coterie.data.priors.universal import Universal
from coterie.training.recipe import Recipe
from coterie.training.universal import (
    AMCP_UNIVERSAL,
    AMCP_UNIVERSAL_SMALL,
    LIKE_TABLES,
    ON_TABLES,
    SETTINGS,
    on_tables,
)


def _study(name: str, settings: dict[str, Any] | None = None, **prior: Any) -> Recipe:
    """The small model after a short training, with other settings or another prior."""
    return replace(
        AMCP_UNIVERSAL_SMALL,
        name=f"study-universal-{name}",
        settings={**AMCP_UNIVERSAL_SMALL.settings, **(settings or {})},
        prior=replace(Universal(), **prior),
        training=replace(
            AMCP_UNIVERSAL.training, steps=1_500, warmup=200, learning_rate=1e-3, seed=0
        ),
    )


def _without(family: str) -> Recipe:
    shares = tuple((name, share) for name, share in Universal().shares if name != family)
    return _study(f"no-{family}", shares=shares)


RECIPES: tuple[Recipe, ...] = (
    _study("base"),
    *(_without(family) for family, _ in Universal().shares),
    _study("no-noise", noise=0.0),
    _study("no-tables", tables=0.0),
    _study("no-leaps", {"leaps": False}),
    _study("no-sines", {"frequencies": 0}),
    _study(
        "references",
        {"landmarks": 0, "leaps": False, "references": 64, "em_steps": 1, "walk_dropout": 0.0},
    ),
    _study("large", SETTINGS),
)

# The benefit of the real tables: the same recipe without their episodes.
STUDY_NO_EPISODES = replace(
    on_tables(
        AMCP_UNIVERSAL_SMALL, seed=18, prior=replace(LIKE_TABLES, tables=Tables(episodes=0.0))
    ),
    name="study-universal-no-episodes",
    trained_on=ON_TABLES.removesuffix("; episodes of 53 real tables"),
)
