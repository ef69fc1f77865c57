"""A short campaign; `python benchmarks/reliability kills --attempts 50` is the long one."""

from coterie.data.priors.mog import MixtureOfGaussians
from coterie.training.recipe import Recipe, TrainingConfig
from reliability.kills import campaign

TINY = Recipe(
    name="tiny",
    system="dac",
    settings={
        "width": 8,
        "heads": 2,
        "slots": 2,
        "encoder_blocks": 1,
        "decoder_blocks": 1,
        "k_max": 2,
    },
    prior=MixtureOfGaussians(n_max=30, k_max=2),
    training=TrainingConfig(steps=9, sets_per_step=2, warmup=1, checkpoint_every=2),
)


def test_killed_trainings_end_with_the_weights_of_one_that_was_not():
    row = campaign(8, seed=0, recipes=[TINY])
    assert row["failures"] == []
    assert row["attempts"] == 8
    assert len(row["moments"]) >= 3
