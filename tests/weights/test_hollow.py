"""Networks that are built without numbers and then filled are those that are built with them."""

from itertools import chain

import pytest
import torch

from coterie.systems.registry import build
from coterie.weights.catalogue import find, models
from coterie.weights.format import load_system, load_tensors
from coterie.weights.hollow import fill, hollow


@pytest.mark.parametrize("name", [model.name for model in models()])
def test_a_loaded_network_is_one_that_was_built_with_numbers(name):
    """Also its buffers that are in no file."""
    loaded, card = load_system(find(name))
    expected = build(card.system, card.settings, card.traits.frame)
    expected.load_state_dict(load_tensors(find(name))[0])
    of_each = (
        dict(chain(one.named_parameters(), one.named_buffers())) for one in (loaded, expected)
    )
    found, wanted = of_each
    assert found.keys() == wanted.keys()
    for each, tensor in found.items():
        assert tensor.dtype == wanted[each].dtype
        assert torch.equal(tensor, wanted[each])


def test_no_two_tensors_share_their_memory():
    """The student of `mice-mnist`, which its file lacks, is a copy of the teacher."""
    for name in ("mice-mnist", "amcp-universal-small"):
        system, _ = load_system(find(name))
        places = [each.data_ptr() for each in chain(system.parameters(), system.buffers())]
        assert len(set(places)) == len(places)


def test_filled_tensors_are_copies_in_the_precision_of_the_network():
    with hollow():
        layer = torch.nn.Linear(2, 3)
    given = {"weight": torch.ones(3, 2, dtype=torch.float16), "bias": torch.zeros(3)}
    fill(layer, given)
    given["bias"] += 1
    assert layer.weight.dtype == torch.float32
    assert isinstance(layer.weight, torch.nn.Parameter)
    assert layer(torch.ones(1, 2)).tolist() == [[2.0, 2.0, 2.0]]


@pytest.mark.parametrize("broken", [{}, {"weight": torch.ones(2, 2), "bias": torch.zeros(3)}])
def test_tensors_that_do_not_fit_are_refused(broken):
    with hollow():
        layer = torch.nn.Linear(2, 3)
    with pytest.raises(RuntimeError, match="state_dict"):
        fill(layer, broken)
