import pytest
import torch
from threadpoolctl import threadpool_info

from bench.threads import limited_threads


def threads():
    return [torch.get_num_threads(), *(pool["num_threads"] for pool in threadpool_info())]


@pytest.mark.parametrize("number", [1, 2])
def test_everybody_has_as_many_threads_as_are_given(number):
    with limited_threads(number):
        assert set(threads()) == {number}


def test_afterwards_it_is_as_before():
    before = threads()
    with pytest.raises(KeyError), limited_threads(2):
        raise KeyError
    assert threads() == before
