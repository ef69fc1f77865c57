import pytest
import torch

from bench.batched import Batched, Lap, Runner, pad
from bench.ceilings import Ceilings, Traffic, count, measure_ceilings, weigh
from bench.mog import mog_setting
from bench.sets import draw_sets
from bench.timing import Spread
from coterie.data.batch import SetBatch
from coterie.functional.attention import attention
from coterie.systems.protocol import Commit, everything_remains, nothing_left
from coterie.weights.catalogue import open_model


class OneProduct:
    """Takes everything in one step, after a single product with a matrix (2, 8)."""

    weight = torch.ones(2, 8)

    def start(self, batch):
        return everything_remains(batch)

    def step_limit(self, batch):
        return 2

    def step(self, state, generator=None):
        (state.batch.points.flatten(0, 1) @ self.weight).sum()
        return Commit(state.remaining, state.remaining.float(), ())

    def finished(self, state):
        return nothing_left(state)


@pytest.fixture(scope="module")
def batch():
    return pad(draw_sets(mog_setting(60, 3, k_limit=4), 3, seed=0))


def test_operations_against_pencil_and_paper():
    batch = SetBatch(torch.zeros(3, 5, 2), torch.ones(3, 5, dtype=torch.bool))
    assert count(OneProduct(), batch).flops == 2 * 15 * 2 * 8


def test_attention_counts_as_its_two_products():
    class OneAttention(OneProduct):
        def step(self, state, generator=None):
            x = state.batch.points
            attention(torch.ones(3, 7, 2), x, x, 2, state.remaining)
            return Commit(state.remaining, state.remaining.float(), ())

    batch = SetBatch(torch.zeros(3, 5, 2), torch.ones(3, 5, dtype=torch.bool))
    assert count(OneAttention(), batch).flops == 2 * (2 * 3 * 7 * 5 * 2)


def test_traffic_is_what_is_read_and_written():
    left, right = torch.ones(4, 6), torch.ones(6, 8)
    with Traffic() as traffic:
        left @ right
    assert traffic.bytes == 4 * (4 * 6 + 6 * 8 + 4 * 8)


def test_views_move_nothing_and_expanded_tensors_what_they_have():
    with Traffic() as traffic:
        row = torch.ones(1, 10)
    written = traffic.bytes
    with traffic:
        row.expand(50, 10).transpose(0, 1)[2:].unflatten(1, (5, 10))
    assert traffic.bytes == written == 40
    with traffic:
        row.expand(50, 10) + 1.0
    assert traffic.bytes == written + 40 + 4 * 500


def test_ceilings_are_rates():
    ceilings = measure_ceilings("cpu", matrix=32, copied_bytes=2**12)
    assert set(ceilings.flops_per_second) == {"highest"}
    assert min(ceilings.flops_per_second["highest"], ceilings.bytes_per_second) > 0


def test_measuring_leaves_the_global_random_state_alone():
    before = torch.get_rng_state()
    measure_ceilings("cpu", matrix=8, copied_bytes=64)
    assert torch.equal(before, torch.get_rng_state())


def test_rates_are_of_the_time_of_the_whole_batch(batch):
    shipped_dac = open_model("dac-mog2d")[0]
    lap = Lap("DAC", "", "highest", Spread(0.5, 0.4, 0.6, 3), 1, 1.0, 1.0)
    field = [Runner("DAC", "", "highest", shipped_dac)]
    ceilings = Ceilings(8, 8, {"highest": 1e9}, 1e6)
    (work,) = weigh(field, Batched("", 3, (lap,)), batch, ceilings)
    amount = count(shipped_dac, batch)
    assert (work.flops, work.bytes_moved) == amount
    assert work.flops_per_second == amount.flops / 1.5
    assert work.share_of_product == pytest.approx(amount.flops / 1.5 / 1e9)
    assert work.share_of_copy == pytest.approx(amount.bytes_moved / 1.5 / 1e6)
