import json
import os
import resource
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from coterie.systems.registry import build
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

SMALL = {"width": 16, "read_width": 16, "heads": 2, "references": 4, "encoder_blocks": 1}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.safetensors"


@pytest.fixture
def written(path, small_dac):
    """A weights file that is in order."""
    save_system(path, small_dac, make_card(small_dac, trained_on="toys", seed=3))
    return path


def refused(why: str):
    """The file must be refused by its name, and for this reason."""
    return pytest.raises(WeightsError, match=rf"weights\.safetensors (?s:.*){why}")


def test_a_system_comes_back_with_its_weights_and_its_card(written, small_dac):
    system, card = load_system(written)
    for name, value in small_dac.state_dict().items():
        assert torch.equal(system.state_dict()[name], value)
    assert system.config == small_dac.config
    assert card == Card(
        "dac", asdict(small_dac.config), small_dac.traits, "toys", provenance={"seed": 3}
    )


@pytest.mark.parametrize(
    ("settings", "density"),
    [({}, "gaussian"), ({"density": "gaussian"}, "gaussian"), ({"density": "none"}, None)],
)
def test_a_card_tells_whether_clusters_have_a_density(path, settings, density):
    system = build("amcp", {**SMALL, **settings})
    save_system(path, system, make_card(system))
    assert load_card(path).traits.density == density


def test_a_loaded_system_is_ready_for_inference(written):
    system, _ = load_system(written)
    assert not system.training
    assert not any(parameter.requires_grad for parameter in system.parameters())


def test_a_card_can_be_read_alone(written, small_dac):
    assert load_card(written).settings == asdict(small_dac.config)


def test_a_card_remembers_the_frame(path, small_dac):
    save_system(path, small_dac, make_card(small_dac, frame="standard", seed=3))
    assert load_card(path).traits == replace(small_dac.traits, frame="standard")
    assert load_card(path).provenance == {"seed": 3}


@pytest.mark.parametrize(
    ("system", "settings"),
    [("dac", {"columns": 3, "k_max": 9, "cluster_scale": 0.5}), ("amcp", {"density": "none"})],
)
def test_a_card_tells_the_traits_of_its_system(path, system, settings):
    built = build(system, {**SMALL, **settings} if system == "amcp" else settings)
    save_system(path, built, make_card(built))
    traits = load_card(path).traits
    assert traits == built.traits
    assert isinstance(traits.item_shape, tuple)


def test_tensors_of_any_layout_come_back(path):
    tensors = {"turned": torch.arange(6).view(2, 3).T, "learnt": torch.ones(2, requires_grad=True)}
    save_tensors(path, tensors, {"version": FORMAT_VERSION})
    found, header = load_tensors(path)
    assert found["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert found["learnt"].tolist() == [1, 1]
    assert header == {"version": FORMAT_VERSION}


def test_folders_are_made_and_no_partial_file_stays(tmp_path):
    path = tmp_path / "a" / "b" / "weights.safetensors"
    save_tensors(path, {"x": torch.zeros(1)}, {})
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file(written, small_dac):
    before, (soft, hard) = written.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # as if the disk were full
    try:
        with pytest.raises(OSError, match="too large") as info:
            save_system(written, small_dac, make_card(small_dac))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert info.value.filename == str(written)
    assert written.read_bytes() == before
    assert list(written.parent.iterdir()) == [written]


def test_the_umask_decides_who_may_read_weights(path, small_dac):
    before = os.umask(0o027)
    try:
        save_system(path, small_dac, make_card(small_dac))
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


def test_missing_file(path):
    with pytest.raises(WeightsError, match=r"no weights file at .*weights\.safetensors"):
        load_system(path)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_truncated_file(written, share):
    content = written.read_bytes()
    written.write_bytes(content[: int(share * len(content))])
    with refused("is damaged"):
        load_system(written)


def test_file_of_another_kind(path):
    with path.open("wb") as file:
        np.savez(file, x=np.zeros(3))
    with refused("is damaged or not a safetensors file"):
        load_system(path)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_foreign_safetensors(path, metadata):
    save_file({"x": torch.zeros(3)}, path, metadata=metadata)
    with refused("not one of coterie's"):
        load_system(path)


def test_header_that_is_no_json(path):
    save_file({"x": torch.zeros(3)}, path, metadata={"coterie": "{"})
    with refused("is damaged"):
        load_system(path)


def test_newer_format(path):
    save_tensors(path, {}, {"version": FORMAT_VERSION + 1})
    with refused(f"has format {FORMAT_VERSION + 1}, .* may be newer"):
        load_system(path)


@pytest.mark.parametrize("header", [{}, {"card": None}, {"card": {"system": "dac"}}])
def test_header_without_a_card(path, header):
    save_tensors(path, {}, {"version": FORMAT_VERSION, **header})
    with refused("has no readable card"):
        load_system(path)


@pytest.mark.parametrize(
    "traits",
    [
        None,
        {},
        "traits",
        {"item_shape": None},
        {"item_shape": [2], "frame": "robust"},
        {"item_shape": [2], "colour": "red"},
    ],
    ids=json.dumps,
)
def test_traits_that_cannot_be_read(path, small_dac, traits):
    card = {**asdict(make_card(small_dac)), "traits": traits}
    save_tensors(path, small_dac.state_dict(), {"version": FORMAT_VERSION, "card": card})
    with refused("has no readable card"):
        load_card(path)


def test_an_unversioned_header(path):
    save_tensors(path, {}, {"card": {}})
    with refused("has format None"):
        load_card(path)


@pytest.mark.parametrize(
    "change",
    [
        {"system": "kmeans"},
        {"settings": {"width": 24, "heads": 2}},
        {"settings": {"colour": "red"}},
        {"settings": {"width": "wide"}},
        {"settings": None},
    ],
    ids=json.dumps,
)
def test_header_that_does_not_fit_the_weights(path, small_dac, change):
    save_system(path, small_dac, replace(make_card(small_dac), **change))
    with refused("does not fit its own header"):
        load_system(path)


def test_weights_that_are_missing_from_the_file(path, small_dac):
    weights = small_dac.state_dict()
    del weights["network.membership_head.bias"]
    save_tensors(path, weights, {"version": FORMAT_VERSION, "card": asdict(make_card(small_dac))})
    with refused(r"network\.membership_head\.bias"):
        load_system(path)
