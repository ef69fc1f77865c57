import pytest
import torch

from coterie.weights import devices
from coterie.weights.devices import require_device


def test_the_processor_is_always_there():
    require_device("cpu")
    require_device("cpu:0")


@pytest.mark.parametrize("name", ["banana", "cuda:4711", "cuda:", "", "CPU", "meta", "xla"])
def test_what_is_not_there_is_refused_in_one_sentence(name):
    with pytest.raises(ValueError, match=f"no device {name!r} here; there is cpu") as info:
        require_device(name)
    assert "\n" not in str(info.value)


def test_devices_that_are_there_are_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(devices.torch.backends.mps, "is_available", lambda: True)
    with pytest.raises(ValueError, match="there is cpu, cuda:0, cuda:1, mps"):
        require_device("banana")
