import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from coterie.weights.catalogue import find, models, n_parameters, open_card, open_model
from coterie.weights.format import (
    WeightsError,
    load_card,
    load_system,
    make_card,
    save_system,
)


def test_the_shipped_models_are_listed():
    assert "dac-mog2d" in [model.name for model in models()]


@pytest.mark.parametrize("model", models(), ids=lambda model: model.name)
def test_a_shipped_model_opens_and_says_what_it_is(model):
    system, card = open_model(model.name)
    assert card == model.card == load_card(model.path)
    assert card.traits.reads_images or system.config.columns == card.traits.columns
    assert replace(system.traits, frame=card.traits.frame) == card.traits
    assert n_parameters(model.path) == sum(each.numel() for each in system.parameters())
    assert card.trained_on
    assert all(torch.isfinite(value).all() for value in system.state_dict().values())
    assert model.size == model.path.stat().st_size


def test_a_model_is_found_by_name_and_by_path(tmp_path):
    shipped = find("dac-mog2d")
    assert shipped.is_file()
    assert find(Path("dac-mog2d")) == shipped
    assert find(str(shipped)) == shipped
    assert find(tmp_path / "mine.safetensors") == tmp_path / "mine.safetensors"


def test_unknown_name_is_refused_with_the_shipped_ones():
    with pytest.raises(WeightsError, match=r"no model 'dac-mog3d'; shipped: .*dac-mog2d"):
        open_model("dac-mog3d")


@pytest.mark.parametrize("weights", [None, 3, b"dac-mog2d"])
def test_what_is_no_name_and_no_path_is_refused_in_words(weights):
    with pytest.raises(WeightsError, match=r"weights must be .* not .*; shipped: .*dac-mog2d"):
        find(weights)


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no device 'banana' here; there is cpu"):
        open_model("dac-mog2d", "banana")


def test_missing_file_is_refused_by_name(tmp_path):
    path = tmp_path / "mine.safetensors"
    with pytest.raises(WeightsError, match=r"no weights file at .*mine\.safetensors"):
        open_model(path)


def test_damaged_file_is_refused_by_name(tmp_path):
    path = tmp_path / "mine.safetensors"
    content = find("dac-mog2d").read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(WeightsError, match=r"mine\.safetensors is damaged"):
        open_model(path)


def test_a_model_is_read_once():
    assert open_model("dac-mog2d")[0] is open_model("dac-mog2d")[0]


def test_a_model_is_kept_in_each_precision():
    single, double = (
        open_model("dac-mog2d", dtype=dtype)[0] for dtype in (torch.float32, torch.float64)
    )
    assert double is open_model("dac-mog2d", dtype=torch.float64)[0]
    for (name, weight), (_, exact) in zip(
        single.named_parameters(), double.named_parameters(), strict=True
    ):
        assert weight.dtype == torch.float32, name
        assert torch.equal(weight.double(), exact)


def test_a_file_that_changed_is_read_again(tmp_path, small_dac):
    path = tmp_path / "mine.safetensors"
    shutil.copy(find("dac-mog2d"), path)
    os.utime(path, (0, 0))
    before, _ = open_model(path)
    save_system(path, small_dac, make_card(small_dac))
    after, _ = open_model(path)
    assert before.config.width == 128
    assert after.config.width == small_dac.config.width


def test_a_card_is_read_again_when_the_file_changes(tmp_path):
    path = tmp_path / "copy.safetensors"
    path.write_bytes(find("amcp-mog2d").read_bytes())
    assert open_card(path) is open_card(str(path))
    system, card = load_system(path)
    save_system(path, system, replace(card, trained_on="something else"))
    os.utime(path, ns=(1, 1))  # clocks may be coarse
    assert open_card(path).trained_on == "something else"


def test_the_card_of_a_missing_file_is_refused(tmp_path):
    with pytest.raises(WeightsError, match="no weights file"):
        open_card(tmp_path / "nowhere.safetensors")
