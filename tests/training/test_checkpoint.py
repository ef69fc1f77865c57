import pytest
import torch
from safetensors import safe_open

from coterie.systems.dac.config import DACConfig
from coterie.systems.dac.minimum_loss import DAC
from coterie.training.checkpoint import load_checkpoint, save_checkpoint
from coterie.weights.format import WeightsError, make_card, save_system

RECIPE = {"name": "tiny", "betas": (0.9, 0.99)}


def trained(steps: int) -> tuple[DAC, torch.optim.Adam]:
    """A small system and its optimiser after some steps on noise."""
    generator = torch.Generator().manual_seed(steps)
    system = DAC(DACConfig(width=8, heads=2, slots=2, encoder_blocks=1, decoder_blocks=1))
    optimizer = torch.optim.Adam(system.parameters(), 1e-2, fused=False)
    for _ in range(steps):
        for parameter in system.parameters():
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        optimizer.step()
    return system, optimizer


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint.safetensors"


def test_weights_moments_and_step_come_back(path):
    system, optimizer = trained(3)
    save_checkpoint(path, system, (optimizer,), step=3, recipe=RECIPE)
    other, fresh = trained(0)
    assert load_checkpoint(path, other, (fresh,), recipe=RECIPE) == 3
    for mine, theirs in zip(system.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs)
        for key, value in optimizer.state[mine].items():
            assert torch.equal(value, fresh.state[theirs][key])
            assert value.dtype == fresh.state[theirs][key].dtype


def test_the_next_step_is_the_same_from_a_checkpoint(path):
    system, optimizer = trained(3)
    save_checkpoint(path, system, (optimizer,), step=3, recipe=RECIPE)
    other, fresh = trained(0)
    load_checkpoint(path, other, (fresh,), recipe=RECIPE)
    for network, steps in ((system, optimizer), (other, fresh)):
        for parameter in network.parameters():
            parameter.grad = torch.ones_like(parameter)
        steps.step()
    for mine, theirs in zip(system.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_the_file_is_plain_safetensors(path):
    system, optimizer = trained(1)
    save_checkpoint(path, system, (optimizer,), step=1, recipe=RECIPE)
    with safe_open(path, framework="numpy") as file:
        assert set(file.metadata()) == {"coterie"}
        names = set(file.keys())
    assert "system.network.membership_head.weight" in names
    assert "optimizer.network.membership_head.weight.exp_avg_sq" in names


def test_nothing_but_the_checkpoint_is_left_in_the_folder(path):
    system, optimizer = trained(1)
    for step in (1, 2):
        save_checkpoint(path, system, (optimizer,), step=step, recipe=RECIPE)
    assert list(path.parent.iterdir()) == [path]


def test_another_recipe_is_refused_before_anything_is_loaded(path):
    system, optimizer = trained(2)
    save_checkpoint(path, system, (optimizer,), step=2, recipe=RECIPE)
    other, fresh = trained(0)
    before = other.network.membership_head.weight.clone()
    with pytest.raises(WeightsError, match=r"checkpoint\.safetensors .* another recipe"):
        load_checkpoint(path, other, (fresh,), recipe={"name": "other"})
    assert torch.equal(other.network.membership_head.weight, before)
    assert not fresh.state


def test_weights_are_no_training_state(path):
    system, optimizer = trained(0)
    save_system(path, system, make_card(system))
    with pytest.raises(WeightsError, match=r"checkpoint\.safetensors holds no training state"):
        load_checkpoint(path, system, (optimizer,), recipe=RECIPE)
