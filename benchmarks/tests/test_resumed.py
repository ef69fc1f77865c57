"""Runs of a race are stored one by one and count again when it is resumed."""

import numpy as np
import pytest

from bench.mog import mog_setting
from bench.race import hold_race
from bench.resumed import StoredRuns
from coterie.comparison.methods import Answer, Method

SMALL = mog_setting(60, 3, k_limit=4)


class Counted:
    """A method that counts its calls, and breaks off at the call with some number."""

    def __init__(self, name="mine", breaks_at=None):
        self.calls, self.breaks_at = 0, breaks_at
        self.method = Method(name, f"details of {name}", self.cluster)

    def cluster(self, points):
        self.calls += 1
        if self.calls == self.breaks_at:
            raise KeyboardInterrupt
        return Answer(np.zeros(len(points), dtype=int))


def race(counted, run, n_sets=4):
    return hold_race(SMALL, [counted.method], [], n_sets=n_sets, n_peer_sets=0, seed=0, run=run)


def test_an_interrupted_race_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "runs.jsonl"
    interrupted, resumed = Counted(breaks_at=4), Counted()  # the first call is the warm-up
    with pytest.raises(KeyboardInterrupt):
        race(interrupted, StoredRuns(path, "1", resume=True))
    result = race(resumed, StoredRuns(path, "1", resume=True))
    assert resumed.calls == 1 + 2
    assert len(path.read_text().splitlines()) == 4
    whole = race(Counted(), StoredRuns(tmp_path / "whole.jsonl", "1", resume=True))
    assert result.ours.methods[0].metrics == whole.ours.methods[0].metrics


@pytest.mark.parametrize(("version", "resume"), [("2", True), ("1", False)])
def test_runs_of_other_weights_or_of_a_race_not_resumed_do_not_count(tmp_path, version, resume):
    path, again = tmp_path / "runs.jsonl", Counted()
    race(Counted(), StoredRuns(path, "1", resume=True))
    race(again, StoredRuns(path, version, resume=resume))
    assert again.calls == 1 + 4


def test_the_first_sets_of_a_longer_race_are_those_of_a_shorter_one(tmp_path):
    path, shorter = tmp_path / "runs.jsonl", Counted()
    race(Counted(), StoredRuns(path, "1", resume=True), n_sets=4)
    result = race(shorter, StoredRuns(path, "1", resume=True), n_sets=2)
    assert shorter.calls == 0
    assert result.ours.methods[0].n_sets == 2


def test_the_load_of_others_is_that_of_the_stored_runs(tmp_path):
    path = tmp_path / "runs.jsonl"
    first = StoredRuns(path, "1", resume=True)
    race(Counted(), first)
    again = StoredRuns(path, "1", resume=True)
    assert again.others_share() is None
    race(Counted(), again)
    assert again.others_share() == first.others_share()
