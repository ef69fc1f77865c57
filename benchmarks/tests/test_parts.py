"""What each part is worth: the bookkeeping, without networks."""

import numpy as np
import pytest

import parts
from coterie.judge.candidates import Candidate
from coterie.judge.features import Evidence


class Liking:
    """A judge of k alone."""

    def scores(self, evidence):
        return evidence.k.astype(float)


@pytest.fixture
def judged():
    arms = ["net", "second", "kmeans"]
    labels = [np.arange(6, dtype=np.int16) % k for k in (1, 2, 3)]
    found = [Candidate(arm, "all", 2, 0, own) for arm, own in zip(arms, labels, strict=True)]
    evidence = Evidence(np.zeros((3, 1), np.float32), np.eye(3, dtype=np.float32), np.arange(1, 4))
    return parts.Judged(Liking(), found, evidence, None)


def test_the_judge_chooses_among_those_allowed(judged):
    assert judged.choose(np.array([True, True, True])) == 2
    assert judged.choose(np.array([True, True, False])) == 1


def test_an_answer_that_stands_needs_no_judge_unless_it_is_left_out(judged):
    settled = judged._replace(stands=0)
    assert settled.choose(np.array([True, True, True])) == 0
    assert settled.choose(np.array([False, True, False])) == 1


def test_a_mixture_answers_where_it_describes_a_table():
    names = {name for pair in parts.REPORTED.values() for name in pair}
    table = {
        "described": True,
        "answers": {name: {"ari": 0.2, "k": 2} for name in names} | {"whole": {"ari": 0.5, "k": 2}},
    }
    found = parts.reported({"one": table, "other": {**table, "described": False}})
    assert found["`AMCP()`"]["ari"]["mean"] == 0.5
    assert found["without candidates of other methods"]["behind"]["mean"] == pytest.approx(0.15)
    assert found["without the mixture"]["behind"]["mean"] == pytest.approx(0.3)


def test_rows_without_a_label_are_not_scored():
    assert parts.score(np.array([0, 0, 1, 1, -1]), np.array([3, 3, 5, 5, 5]))["ari"] == 1
