"""The recipes behind the shipped models, and the studies that chose them."""

from dataclasses import replace

from coterie.data.priors.mog import MixtureOfGaussians
from coterie.training.trainer import Recipe, TrainingConfig

DAC_MOG2D = Recipe(
    name="dac-mog2d",
    system="dac",
    settings={"columns": 2, "k_max": 4},
    prior=MixtureOfGaussians(n_max=1000, k_max=4),
    training=TrainingConfig(steps=12_000, sets_per_step=128, compile=True),
    trained_on="2-D mixtures of up to 4 axis-aligned Gaussians, 300 to 1,000 points (DAC, eq. 13)",
)

PRESETS: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        DAC_MOG2D,
        replace(DAC_MOG2D, name="dac-mog2d-partly", partly_filtered=0.5),
    )
}


def preset(name: str) -> Recipe:
    """A recipe by name."""
    if name not in PRESETS:
        raise ValueError(f"unknown preset {name!r}; known: {', '.join(sorted(PRESETS))}")
    return PRESETS[name]
