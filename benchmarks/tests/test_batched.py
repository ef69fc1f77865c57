import numpy as np
import pytest
import torch

from bench.batched import (
    Lap,
    Runner,
    compare,
    matmul_precision,
    pad,
    runners,
    time_batched,
)
from bench.mog import mog_setting
from bench.sets import draw_sets
from bench.timing import Spread
from coterie.systems.protocol import Commit, everything_remains, nothing_left

SMALL = mog_setting(60, 3, k_limit=4)


@pytest.fixture(scope="module")
def sets():
    return draw_sets(SMALL, 4, seed=0)


def test_the_rival_has_the_same_width(small_amcp):
    ours, dac = runners(small_amcp, "cpu")
    assert (ours.name, dac.name) == (small_amcp, "DAC")
    assert "told" in dac.details
    assert dac.details.endswith("width 16")
    _, trained = runners("dac-mog2d", "cpu")
    assert trained.details == "dac-mog2d, width 128"


def test_everybody_runs_on_the_same_batch(small_amcp, sets):
    told = []
    batched = time_batched(
        runners(small_amcp, "cpu"),
        sets,
        setting="small",
        device="cpu",
        rounds=2,
        progress=lambda *news: told.append(news),
    )
    assert (batched.setting, batched.n_sets) == ("small", 4)
    assert [lap.seconds_per_set.repeats for lap in batched.laps] == [2, 2]
    assert told == [("small batched", 1, 2), ("small batched", 2, 2)]


def test_a_dac_that_is_told_takes_a_step_for_every_cluster(small_amcp, sets):
    dac = runners(small_amcp, "cpu")[1:]
    (lap,) = time_batched(dac, sets, setting="", device="cpu", rounds=1).laps
    assert lap.steps == max(len(np.unique(each.labels)) for each in sets)
    assert lap.ari == 1.0


def test_runners_take_turns_at_going_first(sets):
    journal = []

    class Greedy:
        """Takes everything at once, and writes down when it is asked."""

        finished = staticmethod(nothing_left)

        def __init__(self, name):
            self.name = name

        def step_limit(self, batch):
            return 2

        def start(self, batch):
            journal.append(self.name)
            return everything_remains(batch)

        def step(self, state, generator=None):
            return Commit(state.remaining, state.remaining.float(), ())

    field = [Runner(name, "", "highest", Greedy(name)) for name in ("a", "DAC")]
    time_batched(field, sets, setting="", device="cpu", rounds=2)
    warm_up, first, second = journal[:2], journal[2:4], journal[4:]
    assert warm_up == first == ["a", "DAC"]
    assert second == ["DAC", "a"]


def test_ratios_are_to_dac_in_the_same_precision():
    def lap(name, precision, median):
        return Lap(name, "", precision, Spread(median, 0.0, 9.0, 1), 1, 1.0)

    laps = [lap("a", "highest", 2.0), lap("DAC", "highest", 4.0)]
    laps += [lap("a", "high", 1.0), lap("DAC", "high", 5.0)]
    assert [each.times_dac for each in compare(laps)] == [0.5, 1.0, 0.2, 1.0]


def test_padding_keeps_the_sets(sets):
    batch = pad(sets)
    assert batch.mask.sum(1).tolist() == [len(each.points) for each in sets]
    for number, each in enumerate(sets):
        np.testing.assert_array_equal(batch.points[number][batch.mask[number]], each.points)
        np.testing.assert_array_equal(batch.labels[number][batch.mask[number]], each.labels)


def test_the_precision_is_set_back():
    before = torch.get_float32_matmul_precision()
    with matmul_precision("high"):
        assert torch.get_float32_matmul_precision() == "high"
    assert torch.get_float32_matmul_precision() == before
