"""Every bit of a weights file counts: what changed since it was written is refused."""

import json
import random

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from coterie.weights.catalogue import models, open_model
from coterie.weights.checksum import ENTRY, checksums
from coterie.weights.format import (
    FORMAT_VERSION,
    WeightsError,
    load_card,
    load_system,
    load_tensors,
    make_card,
    save_system,
    save_tensors,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.safetensors"


@pytest.fixture
def written(path, small_dac):
    save_system(path, small_dac, make_card(small_dac, trained_on="toys"))
    return path


def flip(path, bit):
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def start_of_tensors(path):
    return 8 + int.from_bytes(path.read_bytes()[:8], "little")


def test_a_flipped_bit_in_the_tensors_is_refused_by_name(written):
    whole, first = written.read_bytes(), 8 * start_of_tensors(written)
    for bit in random.Random(0).sample(range(first, 8 * len(whole)), 40):
        flip(written, bit)
        with pytest.raises(WeightsError, match=r"weights\.safetensors is damaged: .*tensors"):
            load_system(written)
        written.write_bytes(whole)
    load_system(written)


def test_a_flipped_bit_in_the_header_is_refused(written):
    whole, last = written.read_bytes(), 8 * start_of_tensors(written)
    for bit in random.Random(1).sample(range(last), 100):
        flip(written, bit)
        with pytest.raises(WeightsError) as info:
            load_system(written)
        assert str(written) in str(info.value)
        written.write_bytes(whole)


def test_a_card_alone_is_checked_too(written):
    content = written.read_bytes()
    assert content.count(b"toys") == 1
    written.write_bytes(content.replace(b"toys", b"tows"))
    with pytest.raises(WeightsError, match="the checksum of its header"):
        load_card(written)


def test_tensors_that_changed_places_are_refused(written, small_dac):
    tensors, (_, header) = load_file(written), raw(written)
    one, other = next(
        (one, other)
        for one in tensors
        for other in tensors
        if one < other
        and tensors[one].shape == tensors[other].shape
        and not torch.equal(tensors[one], tensors[other])
    )
    tensors[one], tensors[other] = tensors[other], tensors[one]
    save_file(tensors, written, metadata={"coterie": json.dumps(header)})
    with pytest.raises(WeightsError, match="the checksum of its tensors"):
        load_system(written)


def raw(path):
    with safe_open(path, framework="pt") as file:
        return set(file.keys()), json.loads(file.metadata()["coterie"])


@pytest.mark.parametrize("said", [None, [], "abc", {}, {"header": "abc"}], ids=json.dumps)
def test_checksums_that_cannot_be_read(path, said):
    save_file({}, path, metadata={"coterie": json.dumps({"version": FORMAT_VERSION, ENTRY: said})})
    with pytest.raises(WeightsError, match="is damaged: its checksums cannot be read"):
        load_tensors(path)


def test_a_file_from_before_the_checksums_is_read(written, small_dac):
    _, header = raw(written)
    del header[ENTRY]
    save_file(load_file(written), written, metadata={"coterie": json.dumps(header)})
    found, card = load_system(written)
    assert card.trained_on == "toys"
    for name, tensor in small_dac.state_dict().items():
        assert torch.equal(found.state_dict()[name], tensor)


def test_the_checksum_knows_names_types_shapes_and_values():
    tensors = {"a": torch.arange(6.0), "b": torch.tensor(1)}
    others = [
        {"a": tensors["a"], "c": tensors["b"]},
        {"a": tensors["a"].reshape(2, 3), "b": tensors["b"]},
        {"a": tensors["a"].view(torch.int32), "b": tensors["b"]},
        {"a": tensors["a"].flip(0), "b": tensors["b"]},
        {"a": tensors["a"]},
    ]
    found = {checksums({}, each)["tensors"] for each in (tensors, *others)}
    assert len(found) == 1 + len(others)
    assert checksums({}, dict(reversed(tensors.items()))) == checksums({}, tensors)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.bool, torch.int64])
def test_tensors_of_any_type_are_written_and_read(path, dtype):
    save_tensors(
        path, {"x": torch.ones(3, 2).to(dtype), "y": torch.ones(()).to(dtype)}, {"version": 2}
    )
    tensors, header = load_tensors(path)
    assert tensors["x"].dtype == tensors["y"].dtype == dtype
    assert header == {"version": FORMAT_VERSION}


@pytest.mark.parametrize("model", models(), ids=lambda model: model.name)
def test_shipped_models_have_checksums(model):
    _, header = raw(model.path)
    assert header[ENTRY] == checksums(header, load_file(model.path))
    open_model(model.name)


def test_a_damaged_name_of_the_entry_does_not_make_the_file_an_old_one(written):
    whole = written.read_bytes()
    start = 8 * whole.index(ENTRY.encode())
    for bit in range(start, start + 8 * len(ENTRY)):
        flip(written, bit)
        with pytest.raises(WeightsError, match=r"weights\.safetensors is damaged"):
            load_tensors(written)
        written.write_bytes(whole)
