"""The loop is driven by a system that claims what a script tells it to."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.data.batch import SetBatch
from coterie.inference.loop import find_clusters
from coterie.systems.protocol import (
    MOST_CLUSTERS,
    Commit,
    State,
    everything_remains,
    nothing_left,
)
from coterie.systems.traits import Traits


class Scripted:
    """Step t claims the points script[s][t] of set s, and nothing once the script is over."""

    name = "scripted"
    traits = Traits((2,))
    regions = ()

    def __init__(self, *script: list[list[int]], step_limit: int = MOST_CLUSTERS) -> None:
        self.script, self.limit = script, step_limit
        self.asked = 0

    def step_limit(self, batch: SetBatch) -> int:
        return self.limit

    def start(self, batch: SetBatch) -> State:
        return everything_remains(batch)

    def step(self, state: State, generator: torch.Generator | None = None) -> Commit:
        self.asked += 1
        joined = torch.zeros_like(state.remaining)
        for row, claims in zip(joined, self.script, strict=True):
            if len(state.commits) < len(claims):
                row[claims[len(state.commits)]] = True
        return Commit(joined, torch.zeros(joined.shape), ())

    def finished(self, state: State) -> torch.Tensor:
        return nothing_left(state)


def sets(n_sets: int, n_points: int) -> SetBatch:
    return SetBatch(torch.zeros(n_sets, n_points, 2), torch.ones(n_sets, n_points).bool())


def claimed(state: State, of_set: int = 0) -> list[list[int]]:
    return [commit.joined[of_set].nonzero().flatten().tolist() for commit in state.commits]


def test_trace_is_what_was_claimed_step_by_step():
    state = find_clusters(Scripted([[2, 0], [3], [1]]), sets(1, 4))
    assert claimed(state) == [[0, 2], [3], [1]]
    assert not state.remaining.any()


def test_stops_as_soon_as_nothing_remains():
    system = Scripted([[0, 1], [2]])
    find_clusters(system, sets(1, 3))
    assert system.asked == 2


def test_stops_after_a_step_without_claims_and_leaves_the_rest_over():
    system = Scripted([[0], [], [1]])
    state = find_clusters(system, sets(1, 3))
    assert system.asked == 2
    assert state.remaining.tolist() == [[False, True, True]]


def test_stops_at_the_step_limit():
    system = Scripted([[0], [1], [2], [3]], step_limit=2)
    state = find_clusters(system, sets(1, 4))
    assert system.asked == 2
    assert claimed(state) == [[0], [1]]
    assert state.remaining.tolist() == [[False, False, True, True]]


def test_the_step_limit_is_that_of_the_batch():
    class OnePerPoint(Scripted):
        def step_limit(self, batch):
            return batch.mask.shape[1]

    script = [[number] for number in range(MOST_CLUSTERS + 6)]
    state = find_clusters(OnePerPoint(script), sets(1, MOST_CLUSTERS + 6))
    assert claimed(state) == script
    assert len(find_clusters(Scripted(script), state.batch).commits) == MOST_CLUSTERS


class Accelerated(Scripted):
    """A system with other steps for those who do not watch."""

    def __init__(self, slow: list[list[int]], fast: list[list[int]]) -> None:
        super().__init__(slow)
        self.fast = Scripted(fast, step_limit=1)  # the limit is that of the system itself

    def accelerated(self) -> Scripted:
        return self.fast


def test_accelerated_steps_are_used_where_a_system_has_them():
    system = Accelerated([[0], [1], [2]], [[0, 1], [2]])
    assert claimed(find_clusters(system, sets(1, 3))) == [[0, 1], [2]]
    assert (system.asked, system.fast.asked) == (0, 2)


def test_the_steps_of_the_system_itself_are_used_where_nothing_may_be_accelerated():
    system = Accelerated([[0], [1], [2]], [[0, 1], [2]])
    assert claimed(find_clusters(system, sets(1, 3), accelerate=False)) == [[0], [1], [2]]
    assert (system.asked, system.fast.asked) == (3, 0)


def test_takes_no_step_when_there_is_no_point():
    system = Scripted([[0]])
    batch = SetBatch(torch.zeros(1, 2, 2), torch.zeros(1, 2).bool())
    assert find_clusters(system, batch).commits == ()
    assert system.asked == 0


def test_goes_on_until_the_last_set_of_the_batch_is_finished():
    state = find_clusters(Scripted([[0, 1, 2]], [[0], [1], [2]]), sets(2, 3))
    assert claimed(state, 1) == [[0], [1], [2]]
    assert not state.remaining.any()


def test_a_finished_set_stays_finished_while_others_go_on():
    state = find_clusters(Scripted([[0], [], [1]], [[0], [1], [2]]), sets(2, 3))
    assert claimed(state, 0) == [[0], [], []]
    assert state.remaining[0].tolist() == [False, True, True]


def test_hands_the_generator_to_every_step():
    heard = []

    class Listening(Scripted):
        def step(self, state, generator=None):
            heard.append(generator)
            return super().step(state, generator)

    generator = torch.Generator()
    find_clusters(Listening([[0], [1]]), sets(1, 2), generator=generator)
    assert heard == [generator, generator]


def test_leaves_no_gradient_behind(small_dac):
    points = torch.randn(1, 8, 2, generator=torch.Generator().manual_seed(0), requires_grad=True)
    state = find_clusters(small_dac, SetBatch(points, torch.ones(1, 8).bool()))
    assert not state.commits[0].membership_logits.requires_grad


@given(seed=st.integers(0, 2**31))
@settings(max_examples=20)
def test_a_network_claims_every_point_at_most_once(small_dac, seed):
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(4, 20, generator=generator) < 0.8
    points = 3 * torch.randn(4, 20, 2, generator=generator)
    state = find_clusters(small_dac, SetBatch(points, mask))
    times = torch.stack([commit.joined for commit in state.commits]).sum(0)
    assert torch.equal(times, (mask & ~state.remaining).long())


@pytest.mark.parametrize("companion", [1, 30])
def test_companions_do_not_change_a_set(exact_dac, companion):
    generator = torch.Generator().manual_seed(companion)
    points = 3 * torch.randn(2, 30, 2, generator=generator, dtype=torch.float64)
    mask = torch.ones(2, 30).bool()
    mask[1, companion:] = False
    together = find_clusters(exact_dac, SetBatch(points, mask))
    alone = find_clusters(exact_dac, SetBatch.single(points[0]))
    assert [found for found in claimed(together) if found] == [
        found for found in claimed(alone) if found
    ]
