import pytest

from coterie.data.priors.mog import MixtureOfGaussians
from coterie.training.recipe import Recipe, TrainingConfig


@pytest.fixture(scope="session")
def recipe() -> Recipe:
    """A network of a few hundred weights, trained for twelve steps."""
    return Recipe(
        name="tiny",
        system="dac",
        settings={
            "width": 8,
            "heads": 2,
            "slots": 2,
            "encoder_blocks": 1,
            "decoder_blocks": 1,
            "k_max": 3,
        },
        prior=MixtureOfGaussians(n_max=20, k_max=3),
        training=TrainingConfig(steps=12, sets_per_step=4, warmup=3, checkpoint_every=5),
        partly_filtered=0.5,
        trained_on="toys",
    )
