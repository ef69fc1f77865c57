import pytest
import torch
from safetensors import safe_open

from coterie.systems.dac.config import DACConfig
from coterie.systems.dac.minimum_loss import DAC
from coterie.training.checkpoint import load_checkpoint, save_checkpoint
from coterie.weights.format import (
    WeightsError,
    load_tensors,
    make_card,
    save_system,
    save_tensors,
)

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


def edited(path, change, *, steps=3, header=None):
    """A checkpoint after some steps, edited by hand and with checksums in order."""
    system, optimizer = trained(steps)
    save_checkpoint(path, system, (optimizer,), step=steps, recipe=RECIPE)
    tensors, before = load_tensors(path)
    change(tensors)
    save_tensors(path, tensors, {**before, **(header or {})})


def refused(path, reason):
    other, fresh = trained(0)
    message = rf"checkpoint\.safetensors holds no whole training state: (?s:.*){reason}"
    with pytest.raises(WeightsError, match=message):
        load_checkpoint(path, other, (fresh,), recipe=RECIPE)
    assert not fresh.state


def nothing(tensors):
    pass


@pytest.mark.parametrize("step", [-1, 1.5, "3", None, True, [3]])
def test_a_step_that_is_none(path, step):
    edited(path, nothing, header={"step": step})
    refused(path, "step must be an integer from 0")


def test_a_step_beyond_the_recipe(path):
    recipe = {**RECIPE, "training": {"steps": 5}}
    edited(path, nothing, header={"step": 6, "recipe": recipe})
    other, fresh = trained(0)
    with pytest.raises(WeightsError, match="step must be an integer from 0 to 5, got 6"):
        load_checkpoint(path, other, (fresh,), recipe=recipe)


def test_a_state_without_a_recipe(path):
    edited(path, nothing, header={"recipe": None})
    other, fresh = trained(0)
    with pytest.raises(WeightsError, match="another recipe"):
        load_checkpoint(path, other, (fresh,), recipe=RECIPE)


WEIGHT = "network.membership_head.weight"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda t: t.pop(f"system.{WEIGHT}"), rf"Missing key.*{WEIGHT}"),
        (lambda t: t.update({f"system.{WEIGHT}": torch.zeros(3)}), "size mismatch"),
        (lambda t: t.update({"system.extra": torch.zeros(3)}), "Unexpected key"),
        (lambda t: t.update({"extra": torch.zeros(3)}), "extra is neither a weight nor a moment"),
        (lambda t: t.pop(f"optimizer.{WEIGHT}.exp_avg"), r"\d+ moments .* were written, \d+ are"),
        (
            lambda t: t.update({"optimizer.nobody.exp_avg": torch.zeros(1)}),
            "optimizer.nobody.exp_avg is a moment of no parameter",
        ),
        (
            lambda t: t.update({f"optimizer.{WEIGHT}.exp_avg": torch.zeros(3)}),
            r"exp_avg has shape \(3,\), its parameter",
        ),
        (
            lambda t: t[f"optimizer.{WEIGHT}.exp_avg_sq"].fill_(torch.nan),
            "exp_avg_sq is not made of finite numbers",
        ),
        (lambda t: t[f"system.{WEIGHT}"].fill_(torch.inf), "is not made of finite numbers"),
        (
            lambda t: t.update({f"system.{WEIGHT}": t[f"system.{WEIGHT}"].to(torch.complex64)}),
            "is not made of finite numbers",
        ),
        (lambda t: t[f"optimizer.{WEIGHT}.exp_avg_sq"].fill_(-1), "exp_avg_sq is negative"),
        (lambda t: t[f"optimizer.{WEIGHT}.step"].fill_(-1), "step is negative"),
        (
            lambda t: t.update({f"optimizer.{WEIGHT}.step": torch.ones(2)}),
            r"step has shape \(2,\), not that of a number",
        ),
        (
            lambda t: t.update({f"optimizer.{WEIGHT}.exp_avg": torch.tensor(1.0)}),
            r"exp_avg has shape \(\), its parameter",
        ),
    ],
)
def test_parts_that_are_missing_or_do_not_fit(path, change, reason):
    edited(path, change)
    refused(path, reason)


def without_moments(tensors):
    for name in [name for name in tensors if name.startswith("optimizer.")]:
        del tensors[name]


def test_a_state_without_its_moments(path):
    edited(path, without_moments)
    refused(path, r"\d+ moments .* were written, 0 are there")
    system, optimizer = trained(3)
    save_checkpoint(path, system, (optimizer,), step=3, recipe=RECIPE)
    tensors, header = load_tensors(path)
    without_moments(tensors)
    del header["moments"]  # as before they were counted
    save_tensors(path, tensors, header)
    refused(path, "the moments of the optimizer are missing")


def test_a_state_with_some_moments_of_a_weight_and_their_number(path):
    edited(path, lambda tensors: tensors.pop(f"optimizer.{WEIGHT}.exp_avg"))
    tensors, header = load_tensors(path)
    save_tensors(path, tensors, {**header, "moments": header["moments"] - 1})
    refused(path, rf"of the moments of {WEIGHT} only exp_avg_sq, step are there")


def test_a_state_that_was_written_without_moments_is_taken(path):
    """As it is made of pieces: momentum builds up again."""
    system, _ = trained(3)
    save_checkpoint(path, system, (), step=3, recipe=RECIPE)
    other, fresh = trained(0)
    assert load_checkpoint(path, other, (fresh,), recipe=RECIPE) == 3


def test_a_state_from_before_moments_were_counted_is_taken(path):
    system, optimizer = trained(3)
    save_checkpoint(path, system, (optimizer,), step=3, recipe=RECIPE)
    tensors, header = load_tensors(path)
    del header["moments"]
    save_tensors(path, tensors, header)
    other, fresh = trained(0)
    assert load_checkpoint(path, other, (fresh,), recipe=RECIPE) == 3
