import json

import numpy as np
import pytest

from bench.reliability import BINS, Reliability


def brute_force(confidence, right):
    """Guo et al. 2017, eq. 3, word for word."""
    error = 0.0
    for number in range(BINS):
        inside = (number / BINS < confidence) & (confidence <= (number + 1) / BINS)
        if inside.any():
            gap = abs(right[inside].mean() - confidence[inside].mean())
            error += inside.mean() * gap
    return error


@pytest.fixture
def points():
    random = np.random.default_rng(0)
    confidence = random.uniform(size=2000)
    return confidence, random.uniform(size=2000) < confidence**2


def test_the_error_is_that_of_the_paper(points):
    assert Reliability.of(*points).calibration_error == pytest.approx(brute_force(*points))


def test_who_is_right_as_often_as_he_says_has_no_error():
    confidence = np.repeat([0.25, 0.5, 1.0], [4, 2, 3])
    right = np.array([1, 0, 0, 0, 1, 0, 1, 1, 1], dtype=bool)
    found = Reliability.of(confidence, right)
    assert found.calibration_error == pytest.approx(0)
    assert (found.n_points, found.mean_confidence) == (9, pytest.approx(5 / 9))
    assert found.share_right == pytest.approx(5 / 9)


def test_certain_and_wrong_is_the_largest_error():
    assert Reliability.of(np.ones(5), np.zeros(5, bool)).calibration_error == 1


def test_a_bin_holds_its_upper_end_and_the_first_holds_zero():
    found = Reliability.of(np.array([0.0, 1 / BINS, 1 / BINS + 1e-9, 1.0]), np.ones(4, bool))
    assert found.count[[0, 1, BINS - 1]].tolist() == [2, 1, 1]


def test_errors_of_parts_do_not_cancel_unless_they_share_a_bin():
    low = Reliability.of(np.full(10, 0.5), np.arange(10) < 8)
    high = Reliability.of(np.full(10, 0.9), np.arange(10) < 6)
    both = Reliability.all_of([low, high])
    assert both.calibration_error == pytest.approx(0.3)
    again = Reliability.of(np.full(10, 0.5), np.arange(10) < 2)
    assert Reliability.all_of([low, again]).calibration_error == pytest.approx(0)


def test_parts_together_are_all_points(points):
    confidence, right = points
    parts = [Reliability.of(confidence[at::3], right[at::3]) for at in range(3)]
    assert Reliability.all_of(parts).calibration_error == pytest.approx(brute_force(*points))


def test_data_leave_out_empty_bins():
    data = Reliability.of(np.array([0.5, 1.0, 1.0]), np.array([True, True, False])).to_json()
    assert data["bins"] == [
        {"up_to": 0.5333, "points": 1, "confidence": 0.5, "right": 1.0},
        {"up_to": 1.0, "points": 2, "confidence": 1.0, "right": 0.5},
    ]
    assert data["ece"] == pytest.approx(0.5)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
