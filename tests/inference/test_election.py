import numpy as np
import pytest

from coterie.inference.election import (
    in_favour,
    is_settled,
    mean_agreement,
    most_like,
    pooled,
)

HALVES = np.repeat([0, 1], 50)
THIRDS = np.arange(100) // 34
QUARTERS = np.arange(100) // 25
SHIFTED = np.roll(HALVES, 3)
ODD = np.arange(100) % 2


def test_the_answer_that_agrees_best_with_the_clusters_is_found():
    assert most_like([ODD, SHIFTED, 1 - HALVES, HALVES], HALVES) == 2


def test_stability_is_the_mean_agreement_of_two():
    assert mean_agreement([HALVES, 1 - HALVES]) == pytest.approx(1)
    assert mean_agreement([HALVES, HALVES, ODD]) == pytest.approx(1 / 3, abs=0.02)


def test_two_that_agree_settle_it():
    assert is_settled([HALVES, 1 - HALVES])
    assert not is_settled([HALVES, np.where(np.arange(100) == 99, 2, HALVES)])  # one more cluster
    assert not is_settled([HALVES, SHIFTED])
    assert not is_settled([HALVES, THIRDS])


def test_beliefs_are_pooled_over_all_numbers():
    belief = pooled([np.array([0, 0.6, 0.4]), np.array([0, 0.1, 0.5, 0.4])])
    np.testing.assert_allclose(belief, [0, 0.35, 0.45, 0.2])


def test_no_number_is_more_probable_than_the_one_that_stands():
    np.testing.assert_allclose(in_favour(np.array([0, 0.6, 0.2, 0.2]), 3), [0, 3 / 7, 1 / 7, 3 / 7])
    np.testing.assert_allclose(in_favour(np.array([0, 1.0]), 2), [0, 0.5, 0.5])
