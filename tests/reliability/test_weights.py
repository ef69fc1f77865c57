"""A short campaign; `python benchmarks/reliability weights --attempts 1000` is the long one."""

import pytest

import coterie
from reliability._small_systems import SMALL, answer, serve, write_model, write_small
from reliability.weights import campaign

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of data unlike training sets


@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_network_of_every_system_serves_before_it_is_damaged(name, tmp_path):
    path = tmp_path / "weights.safetensors"
    write_small(name, path)
    assert serve(name, path) == "served"
    path.write_bytes(write_model(name, path))
    assert answer(name, coterie.load(path)) == "served"


def test_damaged_weights_are_refused_and_odd_ones_refused_or_served():
    row = campaign(120, seed=0)
    assert row["failures"] == []
    assert row["refused"] + row["served"] == 120
    assert row["refused"] >= 75  # five of eight kinds of damage must be
    assert len(row["kinds"]) >= 20
