from dataclasses import replace

import pytest
import torch

from coterie.data.priors.mog import MixtureOfGaussians
from coterie.training.recipe import Recipe, TrainingConfig
from coterie.training.trainer import train
from coterie.weights.format import load_system

RECIPE = Recipe(
    name="tiny",
    system="act_st",
    settings={"width": 8, "heads": 2, "slots": 2, "k_max": 3},
    prior=MixtureOfGaussians(n_max=20, k_max=3),
    training=TrainingConfig(steps=8, sets_per_step=4, warmup=2, checkpoint_every=3),
)


class Killed:
    def on_step(self, progress):
        if progress.step == 5:
            raise KeyboardInterrupt


def test_a_killed_run_goes_on_bit_for_bit(tmp_path):
    whole = train(RECIPE, tmp_path / "whole", accelerator="cpu")
    with pytest.raises(KeyboardInterrupt):
        train(RECIPE, tmp_path / "torn", accelerator="cpu", callbacks=[Killed()])
    torn = train(RECIPE, tmp_path / "torn", accelerator="cpu", resume=True)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, torn.state_dict()[name]), name


def test_the_weights_that_come_out_can_be_opened(tmp_path):
    short = replace(RECIPE, training=replace(RECIPE.training, steps=1))
    trained = train(short, tmp_path, accelerator="cpu")
    system, card = load_system(tmp_path / "weights.safetensors")
    assert card.system == "act_st"
    assert card.traits.k_max == 3
    assert card.sizes is not None
    assert torch.equal(system.network.head.weight, trained.network.head.weight)
