"""Cards that somebody else wrote: nothing is built from one that cannot be right."""

import json
import tracemalloc
from dataclasses import asdict, replace

import pytest
import torch
from safetensors.torch import save_file

from coterie.systems.registry import build
from coterie.weights.catalogue import models
from coterie.weights.format import (
    FORMAT_VERSION,
    WeightsError,
    load_card,
    load_system,
    make_card,
    save_system,
    save_tensors,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.safetensors"


def write(path, system, /, **changes):
    """Weights whose card was edited by hand."""
    card = {**asdict(make_card(system)), **changes}
    card = {name: value for name, value in card.items() if value is not ...}
    save_tensors(path, system.state_dict(), {"version": FORMAT_VERSION, "card": card})


def refused(path, reason):
    """Neither the card nor the system is read, and one line says why."""
    for load in (load_card, load_system):
        with pytest.raises(WeightsError, match=rf"weights\.safetensors (?s:.*){reason}") as info:
            load(path)
        assert len(str(info.value)) < 1000


@pytest.mark.parametrize("temperature", [float("nan"), 0, 0.0, -1.0, float("inf"), "1", None, True])
def test_a_temperature_that_divides_nothing(path, small_dac, temperature):
    write(path, small_dac, temperature=temperature)
    refused(path, "no readable card: temperature must be a number from 0.001 to 1000")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"system": "kmeans"}, "unknown system 'kmeans'"),
        ({"system": ["dac"]}, "unhashable"),
        ({"system": ...}, "no system"),
        ({"settings": []}, "settings must be a record"),
        ({"settings": {"slots": 10**9}}, "slots must be 100,000 or less"),
        ({"trained_on": 3}, "trained_on must be text"),
        ({"provenance": "mine"}, "provenance must be a record"),
        ({"context_size": 0}, "context_size must be an integer from 1"),
        ({"context_size": 10**12}, "context_size must be an integer from 1"),
        ({"context_size": 99.5}, "context_size must be an integer from 1"),
        ({"sizes": [1.0]}, "sizes must be 2 numbers"),
        ({"sizes": [2.0, 1.0]}, "sizes must be a low and a high one"),
        ({"sizes": ["low", "high"]}, "sizes must be finite numbers"),
        ({"texture": [float("nan"), 1.0, 1.0]}, "texture must be finite numbers"),
        ({"texture": {"spacing": 1.0}}, "texture must be 3 numbers"),
        ({"colour": "red"}, "unknown entries colour"),
    ],
    ids=str,
)
def test_entries_that_cannot_be_right(path, small_dac, changes, reason):
    write(path, small_dac, **changes)
    refused(path, reason)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"k_max": 9}, r"traits have k_max=9, the settings 4"),
        ({"item_shape": [3]}, r"traits have item_shape=\(3,\), the settings \(2,\)"),
        ({"density": None}, "traits have density=None, the settings 'gaussian'"),
        ({"cluster_scale": 1.0}, "traits have cluster_scale=1.0, the settings 0.25"),
    ],
    ids=str,
)
def test_traits_of_other_settings(path, small_dac, change, reason):
    write(path, small_dac, traits={**asdict(small_dac.traits), **change})
    refused(path, f"does not fit its own header: the {reason}")


def test_the_frame_is_not_a_setting(path, small_dac):
    save_system(path, small_dac, make_card(small_dac, frame="standard"))
    assert load_card(path).traits == replace(small_dac.traits, frame="standard")


def test_a_header_of_a_hundred_thousand_levels(path):
    save_file({"x": torch.zeros(1)}, path, metadata={"coterie": "[" * 100_000 + "]" * 100_000})
    refused(path, "is damaged: its header is nested too deep")


def test_settings_nested_deep(path, small_dac):
    deep = []
    for _ in range(500):
        deep = [deep]
    write(path, small_dac, settings={"width": deep}, provenance={"deep": deep})
    refused(path, "")


def test_an_integer_of_too_many_digits(path):
    text = json.dumps({"version": FORMAT_VERSION})[:-1] + ', "step": ' + "9" * 10_000 + "}"
    save_file({"x": torch.zeros(1)}, path, metadata={"coterie": text})
    refused(path, "is damaged: its header is not JSON")


@pytest.mark.parametrize("version", [True, 1.0, "2", 0, -1, None])
def test_a_version_is_a_whole_number(path, version):
    save_file({}, path, metadata={"coterie": json.dumps({"version": version})})
    refused(path, "has format")


def test_a_header_that_asks_for_gigabytes_is_refused_before_anything_is_built(
    path, small_dac, monkeypatch
):
    """A network of 17,000 slots and widths; 7 GB were it built."""
    settings = {**asdict(small_dac.config), "width": 16_384, "slots": 16_384}
    write(path, small_dac, settings=settings)
    devices = []
    monkeypatch.setattr(
        "coterie.weights.format.build",
        lambda *given: devices.append(torch.empty(0).device.type) or build(*given),
    )
    tracemalloc.start()
    try:
        with pytest.raises(WeightsError, match=r"does not fit its own header(?s:.*)size mismatch"):
            load_system(path)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
    assert devices == ["meta"]  # where tensors have shapes and no content


@pytest.mark.parametrize(
    "value", [torch.nan, torch.inf, -torch.inf], ids=["nan", "inf", "minus inf"]
)
def test_weights_that_are_no_numbers(path, small_dac, value):
    tensors = {name: tensor.clone() for name, tensor in small_dac.state_dict().items()}
    tensors["network.membership_head.bias"][0] = value
    header = {"version": FORMAT_VERSION, "card": asdict(make_card(small_dac))}
    save_tensors(path, tensors, header)
    with pytest.raises(WeightsError, match=r"membership_head\.bias is not made of finite numbers"):
        load_system(path)


@pytest.mark.parametrize("name", ["amcp", "dac", "mice", "moco"])
def test_systems_of_every_kind_are_compared_and_read(path, name):
    settings = {"backbone": "small", "queue": 8, "width": 16} if name in ("mice", "moco") else {}
    system = build(name, settings)
    save_system(path, system, make_card(system))
    found, _ = load_system(path)
    for key, tensor in system.state_dict().items():
        assert torch.equal(found.state_dict()[key], tensor), key


@pytest.mark.parametrize("model", models(), ids=lambda model: model.name)
def test_a_shipped_header_that_was_edited_is_refused(path, model):
    content = model.path.read_bytes()
    edited = content.replace(b"trained_on", b"trained_in", 1)
    assert edited != content
    path.write_bytes(edited)
    refused(path, "is damaged: the checksum of its header")
