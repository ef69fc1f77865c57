import numpy as np
import pytest

import coterie
from honesty import Judged, belief, calibration, draw, judge, recalibrated, report


def judged(*, true, found, confidence, right, belief):
    rows = np.full(10, confidence), np.arange(10) < 10 * right
    return Judged("moons", 2, true, found, *rows, np.array(belief), 0.9 if right == 1 else 0.4)


SURE = judged(true=2, found=2, confidence=0.9, right=1.0, belief=[0.0, 0.1, 0.9])
WRONG = judged(true=3, found=1, confidence=0.9, right=0.5, belief=[0.0, 0.8, 0.2])


def test_sets_are_drawn_by_turns_and_always_the_same():
    first, again = (list(draw(4, seed=2)) for _ in range(2))
    assert [each.kind for each in first] == ["mixtures", "moons"] * 2
    assert all(np.array_equal(a.points, b.points) for a, b in zip(first, again, strict=True))
    assert first[1].n_clusters == 2
    assert not np.array_equal(first[1].points[:9], first[3].points[:9])


def test_confidences_are_held_against_the_truth():
    found = calibration([SURE, WRONG])
    assert found["confidence"] == pytest.approx(0.9)
    assert found["right"] == pytest.approx(0.75)
    assert found["ece"] == pytest.approx(0.15)


def test_a_number_beyond_the_belief_is_a_surprise():
    found = belief([SURE, WRONG])
    assert found["top_belief"] == pytest.approx(0.85)
    assert found["top_right"] == found["found_right"] == 0.5
    assert found["surprise"] == pytest.approx((-np.log(0.9) - np.log(1e-12)) / 2)


def test_sets_of_a_wrong_number_are_told_apart():
    found = report([SURE, WRONG] * 2)
    assert found["memberships"]["k right"]["ece"] == pytest.approx(0.1)
    assert found["memberships"]["k wrong"]["ece"] == pytest.approx(0.4)
    assert "more columns" not in found["belief"]


def test_a_rule_that_is_told_of_the_doubt_lowers_the_confidences_there():
    alone, told = (recalibrated([SURE, WRONG] * 8, *names) for names in ((), ("agreement",)))
    assert alone[0].confidence[0] == pytest.approx(alone[1].confidence[0])
    assert told[1].confidence[0] < 0.6 < 0.9 < told[0].confidence[0]
    assert report([SURE, WRONG] * 8)["recalibrated"]["with agreement"]["all"] < 0.1


def test_a_model_is_judged():
    _, given = draw(2, seed=0)
    found = judge(given, coterie.AMCP("amcp-universal-small"))
    assert found.belief.sum() == pytest.approx(1)
    assert len(found.right) == len(given.points)
