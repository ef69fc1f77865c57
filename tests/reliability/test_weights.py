"""A short campaign; `python benchmarks/reliability weights --attempts 1000` is the long one."""

import pytest

from reliability.weights import campaign


@pytest.mark.parametrize("seed", [0, 1])
def test_damaged_weights_are_refused_and_odd_ones_refused_or_served(seed):
    row = campaign(80, seed)
    assert row["failures"] == []
    assert row["refused"] + row["served"] == 80
    assert row["refused"] >= 50  # five of eight kinds of damage must be
