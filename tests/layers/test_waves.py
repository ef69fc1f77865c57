import math

import pytest
import torch

from coterie.layers.waves import Waves


def test_every_wave_is_twice_as_fast_as_the_one_before():
    x = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = Waves(4)(x)
    assert found.shape == (2, 5, 3 * 9)
    for i in range(2):
        for j in range(5):
            values = x[i, j].tolist()
            phases = [2**octave * value for value in values for octave in range(4)]
            expected = [*values, *map(math.sin, phases), *map(math.cos, phases)]
            assert found[i, j].tolist() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_without_waves_there_are_the_coordinates_alone():
    x = torch.randn(4, 2, generator=torch.Generator().manual_seed(0))
    assert torch.equal(Waves(0)(x), x)


def test_waves_have_nothing_to_learn():
    assert not list(Waves(3).parameters())
    assert not Waves(3).state_dict()
