"""Studies of DAC: variants of `dac-mog2d` on a fifth of its sets; its card has the results."""

from dataclasses import replace

from coterie.training.presets import DAC_MOG2D
from coterie.training.recipe import Recipe, TrainingConfig

BASE = replace(
    DAC_MOG2D,
    name="study-dac",
    training=TrainingConfig(steps=5_000, sets_per_step=64, compile=True),
)


def _variant(name: str, **settings: int) -> Recipe:
    return replace(BASE, name=f"study-dac-{name}", settings={**BASE.settings, **settings})


RECIPES: tuple[Recipe, ...] = (
    BASE,
    _variant("wide", width=256),
    _variant("deep", encoder_blocks=3, decoder_blocks=3),
    replace(BASE, name="study-dac-rate", training=replace(BASE.training, learning_rate=1e-3)),
    replace(DAC_MOG2D, name="dac-mog2d-partly", partly_filtered=0.5),
)
