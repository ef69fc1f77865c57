"""Files of format 1: flat names of tensors, scalings instead of frames, no traits."""

import json
from dataclasses import asdict
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch import Tensor, nn

from coterie.ood.size import Span
from coterie.ood.texture import Texture
from coterie.systems.registry import build
from coterie.systems.traits import Traits
from coterie.weights.catalogue import models, open_model
from coterie.weights.format import (
    FORMAT_VERSION,
    Card,
    WeightsError,
    load_card,
    load_system,
    load_tensors,
    make_card,
    save_system,
    save_tensors,
)
from coterie.weights.upgrade import upgrade_header, upgrade_tensor

SMALL = {"width": 16, "read_width": 16, "heads": 2, "encoder_blocks": 2}
WALKING = {"landmarks": 8, "leaps": True, "encode_every": 0, "decoder_blocks": 0}
SYSTEMS = {
    "dac": ("dac", {"width": 16, "heads": 2, "slots": 4, "columns": 3}),
    "amcp": ("amcp", {**SMALL, "references": 4, "columns": 3}),
    "amcp-anchor": ("amcp", {**SMALL, "proposal": "anchor", "coupling": True}),
    "amcp-walking": (
        "amcp",
        {**SMALL, **WALKING, "proposal": "anchor", "density": "none", "walk_dropout": 0.15},
    ),
}
# How the parts of an AMCP network were called.
FLAT = {
    "network.encoder.embed.": "embed.",
    "network.encoder.blocks.": "encoder.",
    "network.encoder.norm.": "norm_encoded.",
    "network.walk_map.": "hear.",
}


def flat_name(name: str) -> str:
    for new, old in FLAT.items():
        if name.startswith(new):
            return old + name.removeprefix(new)
    return name.removeprefix("network.")


def fresh(name: str) -> nn.Module:
    system, settings = SYSTEMS[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return build(system, settings)


def old_card(system: Any, /, **more: Any) -> dict[str, Any]:
    """A card as format 1 had it."""
    settings = asdict(system.config)
    if "walk_dropout" in settings:
        settings["unheard"] = settings.pop("walk_dropout")
    return {
        "system": system.name,
        "settings": settings,
        "trained_on": "toys",
        "provenance": {"seed": 3},
        "scaling": "none",
        "context_size": 2_000,
        "sizes": None,
        "texture": None,
        "temperature": 1.0,
        **more,
    }


def old_tensors(system: nn.Module) -> dict[str, Tensor]:
    return {flat_name(name): tensor for name, tensor in system.state_dict().items()}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.safetensors"


def raw(path) -> tuple[set[str], dict[str, Any]]:
    """The names of the tensors of a file and its header, as they are on disk."""
    with safe_open(path, framework="pt") as file:
        return set(file.keys()), json.loads(file.metadata()["coterie"])


# The shipped files


FORMAT_1 = [model for model in models() if raw(model.path)[1]["version"] == 1]


@pytest.mark.parametrize("model", FORMAT_1, ids=lambda model: model.name)
def test_a_shipped_file_of_format_1_opens_as_one_of_today(model, path):
    names, header = raw(model.path)
    system, card = open_model(model.name)
    assert names == {flat_name(name) for name in system.state_dict()}
    scaling = header["card"].get("scaling", "none")  # the oldest had none
    assert card.traits.frame == {"none": "plain", "robust": "standard"}[scaling]
    again = build(card.system, card.settings).eval()
    again.load_state_dict(system.state_dict())
    save_system(path, again, card)
    assert raw(path)[1]["version"] == FORMAT_VERSION
    rewritten, same = load_system(path)
    assert same == card
    for name, tensor in system.state_dict().items():
        assert torch.equal(rewritten.state_dict()[name], tensor), name


# A file written by hand


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize(("scaling", "frame"), [("none", "plain"), ("robust", "standard")])
def test_a_file_of_format_1_equals_its_counterpart(name, scaling, frame, tmp_path):
    system = fresh(name)
    old, new = tmp_path / "old.safetensors", tmp_path / "new.safetensors"
    header = {"version": 1, "card": old_card(system, scaling=scaling)}
    save_tensors(old, old_tensors(system), header)
    card = make_card(system, trained_on="toys", frame=frame, context_size=2_000, seed=3)
    save_system(new, system, card)
    assert raw(old)[0] != raw(new)[0]
    (before, before_card), (after, after_card) = load_system(old), load_system(new)
    assert before_card == after_card == card == load_card(old)
    assert before.config == after.config == system.config
    assert before.state_dict().keys() == after.state_dict().keys()
    for key, tensor in after.state_dict().items():
        assert torch.equal(before.state_dict()[key], tensor), key
    tensors, _ = load_tensors(old)
    assert tensors.keys() == system.state_dict().keys()


def test_every_part_of_a_walking_network_had_another_name():
    names = set(old_tensors(fresh("amcp-walking")))
    assert {name.split(".")[0] for name in names} >= {"embed", "encoder", "norm_encoded", "hear"}
    assert not any(name.startswith("network.") for name in names)


def test_traits_come_from_the_settings(path):
    system = fresh("amcp-walking")
    save_tensors(path, old_tensors(system), {"version": 1, "card": old_card(system)})
    assert load_card(path).traits == Traits((2,), None, None, 4, "plain")
    system = fresh("dac")
    save_tensors(path, old_tensors(system), {"version": 1, "card": old_card(system)})
    assert load_card(path).traits == Traits((3,), "gaussian", 0.25, 4, "plain")


def test_the_rest_of_a_card_stays_as_it_is(path, small_dac):
    texture, sizes = Texture(0.2, 0.3, 4.0), Span(1.0, 2.0)
    card = old_card(small_dac, texture=texture, sizes=sizes, temperature=1.5)
    save_tensors(path, old_tensors(small_dac), {"version": 1, "card": card})
    assert load_card(path) == Card(
        "dac",
        asdict(small_dac.config),
        small_dac.traits,
        trained_on="toys",
        provenance={"seed": 3},
        context_size=2_000,
        sizes=sizes,
        texture=texture,
        temperature=1.5,
    )


def test_a_file_from_before_the_scaling_is_plain(path, small_dac):
    card = {"system": "dac", "settings": asdict(small_dac.config)}
    save_tensors(path, old_tensors(small_dac), {"version": 1, "card": card})
    assert load_card(path) == Card("dac", asdict(small_dac.config), small_dac.traits)
    assert torch.equal(
        load_system(path)[0].network.membership_head.weight,
        small_dac.network.membership_head.weight,
    )


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_was_read_can_be_written_and_read_again(name, tmp_path):
    system = fresh(name)
    old, new = tmp_path / "old.safetensors", tmp_path / "new.safetensors"
    header = {"version": 1, "card": old_card(system, scaling="robust")}
    save_tensors(old, old_tensors(system), header)
    save_tensors(new, *load_tensors(old))
    assert load_card(new) == load_card(old)
    assert load_card(new).traits.frame == "standard"
    again, _ = load_system(new)
    for key, tensor in system.state_dict().items():
        assert torch.equal(again.state_dict()[key], tensor), key


# Damage


@pytest.mark.parametrize(
    "change",
    [
        {"scaling": "minmax"},
        {"scaling": None},
        {"settings": None},
        {"settings": {"colour": "red"}},
        {"settings": {"width": 16, "unheard": 0.1}},
        {"system": "kmeans"},
        {"system": None},
        {"colour": "red"},
    ],
    ids=json.dumps,
)
def test_a_damaged_card_is_refused_by_the_name_of_the_file(path, small_dac, change):
    header = {"version": 1, "card": old_card(small_dac, **change)}
    save_tensors(path, old_tensors(small_dac), header)
    for load in (load_card, load_system):
        with pytest.raises(WeightsError, match=r"weights\.safetensors has no readable card"):
            load(path)


@pytest.mark.parametrize("card", [None, [], "card", 3, {}, {"system": "dac"}], ids=json.dumps)
def test_what_is_no_card_is_refused_by_the_name_of_the_file(path, small_dac, card):
    save_tensors(path, old_tensors(small_dac), {"version": 1, "card": card})
    with pytest.raises(WeightsError, match=r"weights\.safetensors has no readable card"):
        load_card(path)


def test_tensors_that_are_missing_are_named_as_they_are_called_today(path, small_dac):
    tensors = old_tensors(small_dac)
    del tensors["membership_head.bias"]
    save_tensors(path, tensors, {"version": 1, "card": old_card(small_dac)})
    with pytest.raises(WeightsError, match=r"Missing key.*network\.membership_head\.bias"):
        load_system(path)


def test_tensors_of_today_in_a_file_of_format_1_do_not_fit(path, small_dac):
    save_tensors(path, small_dac.state_dict(), {"version": 1, "card": old_card(small_dac)})
    with pytest.raises(WeightsError, match="does not fit its own header"):
        load_system(path)


# Headers that need nothing


@pytest.mark.parametrize("version", [1, FORMAT_VERSION])
def test_training_states_stay_as_they_are(version):
    header = {"version": version, "step": 3, "recipe": {}}
    assert upgrade_header(header) is header
    assert upgrade_tensor("system.embed.0.weight", header) == "system.embed.0.weight"


def test_todays_headers_stay_as_they_are(small_dac):
    header = {"version": FORMAT_VERSION, "card": asdict(make_card(small_dac))}
    assert upgrade_header(header) is header
    assert upgrade_tensor("embed.0.weight", header) == "embed.0.weight"


def test_a_header_is_not_changed_in_place(small_dac):
    header = {"version": 1, "card": old_card(small_dac)}
    before = json.dumps(header)
    upgrade_header(header)
    assert json.dumps(header) == before
