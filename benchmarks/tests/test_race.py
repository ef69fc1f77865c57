from types import SimpleNamespace

import numpy as np
import pytest

from bench import race
from bench.mog import mog_setting
from bench.race import hold_race, turns
from coterie.comparison.methods import Answer, Method

SMALL = mog_setting(40, 3, k_limit=4)


class Journal:
    """Methods that write down when they are asked, and say one cluster."""

    def __init__(self):
        self.calls = []

    def method(self, name):
        def cluster(points):
            self.calls.append((name, len(points)))
            return Answer(np.zeros(len(points), dtype=int))

        return Method(name, "", cluster)


def test_methods_alternate_set_by_set_and_take_turns_at_going_first():
    journal = Journal()
    ours, peers = [journal.method("a")], [journal.method("b"), journal.method("c")]
    race = hold_race(SMALL, ours, peers, n_sets=5, n_peer_sets=3, seed=0)
    warm_up, timed = journal.calls[:3], journal.calls[3:]
    assert [name for name, _ in warm_up] == ["a", "b", "c"]
    assert "".join(name for name, _ in timed) == "abc" + "bca" + "cab" + "a" + "a"
    assert len({size for _, size in timed[3:6]}) == 1
    assert [summary.n_sets for summary in race.ours.methods] == [5]
    assert [summary.n_sets for summary in race.everybody.methods] == [3, 3, 3]
    assert (race.ours.oracle.n_sets, race.everybody.oracle.n_sets) == (5, 3)


def test_turns_go_round():
    assert ["".join(turns("abc", number)) for number in range(4)] == ["abc", "bca", "cab", "abc"]
    assert list(turns("", 5)) == []


def test_time_is_that_of_the_method(monkeypatch):
    now = 0.0

    def method(name, seconds):
        def cluster(points):
            nonlocal now
            now += seconds
            return Answer(np.zeros(len(points), dtype=int))

        return Method(name, "", cluster)

    monkeypatch.setattr(race, "time", SimpleNamespace(perf_counter=lambda: now))
    methods = [method("fast", 1.0), method("slow", 20.0)]
    fast, slow = hold_race(SMALL, methods, [], n_sets=3, n_peer_sets=0, seed=0).ours.methods
    assert fast.seconds_median == 1.0
    assert slow.seconds_median == 20.0


def test_no_more_peer_sets_than_sets():
    journal = Journal()
    race = hold_race(
        SMALL, [journal.method("a")], [journal.method("b")], n_sets=2, n_peer_sets=9, seed=0
    )
    assert race.everybody.n_sets == 2


def test_progress_counts_every_set():
    told = []
    hold_race(
        SMALL,
        [Journal().method("a")],
        [],
        n_sets=3,
        n_peer_sets=0,
        seed=0,
        progress=lambda *news: told.append(news),
    )
    assert told == [("(40, 3)", done, 3) for done in (1, 2, 3)]


@pytest.mark.parametrize(("n_sets", "n_peer_sets"), [(0, 0), (3, -1)])
def test_impossible_numbers_are_refused(n_sets, n_peer_sets):
    with pytest.raises(ValueError, match="n_sets"):
        hold_race(SMALL, [], [], n_sets=n_sets, n_peer_sets=n_peer_sets, seed=0)
